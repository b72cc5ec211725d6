import { DEFAULT_CAPABILITIES } from '../src/core/capabilities.ts'
import { passthrough } from '../src/gateway/passthrough.ts'
import { translate } from '../src/gateway/translate.ts'
import { PROTOCOLS } from '../src/protocol/protocols.ts'
import { machine, writeResults } from './results.ts'

/**
 * Whoever sends many small things must not keep the gateway busy for the square of their number: eight times as much may
 * take some eight times as long, and would take 64 times as long if the work grew with the square.
 */
const FEW = 5_000
const MANY = 8 * FEW
const RATIO_MAX = 24
const TRIES = 5

type ProtocolName = keyof typeof PROTOCOLS
type Shape = (count: number) => Record<string, unknown>

const each = <T>(count: number, make: (place: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))
const asked = (...messages: object[]) => ({
  messages: [{ role: 'user', content: 'q' }, ...messages, { role: 'user', content: 'r' }],
})
const MARK = { cache_control: { type: 'ephemeral' } }
const call = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })
const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'r' })
const use = (id: string) => ({ type: 'tool_use', id, name: 'f', input: {} })
const used = (id: string) => ({ type: 'tool_result', tool_use_id: id, content: 'r' })

const COMMON: Record<string, Shape> = {
  'assistants who say nothing': count => asked(...each(count, () => ({ role: 'assistant', content: '' }))),
  'words of the system': count => asked(...each(count, i => ({ role: 'system', content: `s${i}` }))),
  'cache marks': count =>
    asked({ role: 'user', content: each(count, i => ({ type: 'text', text: `p${i}`, ...MARK })) }),
}

const SHAPES: Record<ProtocolName, Record<string, Shape>> = {
  chat: {
    ...COMMON,
    'calls under one id': count =>
      asked({ role: 'assistant', tool_calls: each(count, () => call('same')) }, ...each(count, () => result('same'))),
    'assistants who call in a row': count =>
      asked(...each(count, i => ({ role: 'assistant', tool_calls: [call(`c${i}`)] }))),
    'results of nothing': count => asked(...each(count, i => result(`c${i}`))),
    tools: count => ({ ...asked(), tools: each(count, i => ({ type: 'function', function: { name: `t ${i}` } })) }),
  },
  messages: {
    ...COMMON,
    'calls under one id': count =>
      asked(
        { role: 'assistant', content: each(count, () => use('same')) },
        { role: 'user', content: each(count, () => used('same')) },
      ),
    'assistants who call in a row': count =>
      asked(...each(count, i => ({ role: 'assistant', content: [use(`c${i}`)] }))),
    'results of nothing': count => asked(...each(count, i => ({ role: 'user', content: [used(`c${i}`)] }))),
    tools: count => ({ ...asked(), tools: each(count, i => ({ name: `t ${i}`, input_schema: { type: 'object' } })) }),
  },
}

/** How long a request takes from its text to the upstream's, the best of several tries. */
function timeOf(client: ProtocolName, upstream: ProtocolName, body: object): number {
  const text = JSON.stringify(body)
  const target = {
    ...{ model: 'm', maxTokens: 9, maxOutputTokens: 9, reasoning: false, withheld: [] },
    capabilities: DEFAULT_CAPABILITIES[upstream],
  }
  const times = each(TRIES, () => {
    const start = performance.now()
    const ask = PROTOCOLS[client].read(JSON.parse(text), text)
    const [from, to] = [PROTOCOLS[client], PROTOCOLS[upstream]]
    const pair = from === to ? passthrough(ask, from) : translate(ask, from, to)
    pair.request(target)
    return performance.now() - start
  })
  return Math.min(...times)
}

const NAMES: readonly ProtocolName[] = ['chat', 'messages']
const rows = NAMES.flatMap(client =>
  NAMES.flatMap(upstream =>
    Object.entries(SHAPES[client]).map(([what, shape]) => {
      const bodyOf = (count: number) => ({ model: 'm', max_tokens: 9, ...shape(count) })
      const [few, many] = [timeOf(client, upstream, bodyOf(FEW)), timeOf(client, upstream, bodyOf(MANY))]
      return { what, pair: `${client} to ${upstream}`, many, ratio: many / few }
    }),
  ),
)

await writeResults('growth', [
  '## Requests of many small things',
  '',
  `${machine()}. Time for ${MANY} of something in a request, from its text to the upstream's, and how many times as long`,
  `that is as for ${FEW}: 8 where the work grows with their number, 64 where it grows with its square.`,
  '',
  '| | pair | ms | ratio |',
  '|---|---|---|---|',
  ...rows.map(({ what, pair, many, ratio }) => `| ${what} | ${pair} | ${many.toFixed(0)} | ${ratio.toFixed(1)} |`),
])
const steep = rows.filter(({ ratio }) => ratio > RATIO_MAX)
for (const { what, pair, ratio } of steep) console.error(`${what}, ${pair}: ${ratio.toFixed(1)} times as long`)
process.exit(steep.length > 0 ? 1 : 0)
