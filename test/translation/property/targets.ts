import type { ProtocolName } from '../../../src/core/ask.ts'
import { type Capabilities, DEFAULT_CAPABILITIES } from '../../../src/core/capabilities.ts'
import type { Target } from '../../../src/protocol/protocol.ts'
import type { Random } from './cases.ts'

const EFFORTS: readonly Capabilities['efforts'][] = [
  [],
  ['low', 'medium', 'high'],
  ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
  ['high'],
]

/** An upstream that nobody has seen yet: every switch of its capabilities either way. */
export function someTarget(random: Random, protocol: ProtocolName): Target {
  const defaults: Capabilities = DEFAULT_CAPABILITIES[protocol]
  const flipped = Object.entries(defaults).map(([name, value]) => [
    name,
    typeof value === 'boolean' && random.chance(0.3) ? !value : value,
  ])
  const capabilities: Capabilities = {
    ...Object.fromEntries(flipped),
    maxTokensField: random.pick(['max_tokens', 'max_completion_tokens']),
    efforts: random.pick(EFFORTS),
    userField: random.pick(['user', 'safety_identifier', 'none']),
    vision: random.pick([undefined, true, false]),
  }
  return {
    model: 'the-vendors-own-name',
    maxTokens: random.pick([undefined, 1, 1000, 5000, 100_000]),
    maxOutputTokens: random.pick([1, 1024, 8192, 64_000]),
    reasoning: random.chance(0.5),
    capabilities,
    withheld: [],
  }
}
