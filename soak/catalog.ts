import type { FaultyUpstream } from '../test/faults/table/upstream.ts'
import type { ProtocolName } from '../test/support/wire.ts'

/** One upstream of the soak, under the name that it is asked by. */
interface Upstream {
  readonly name: string
  readonly protocol: ProtocolName
  readonly model: string
  /** Nothing is ever wrong with it. */
  readonly isSound?: true
  /** It can refuse a connection. */
  readonly hasOwnPort?: true
  readonly more?: string
}

export const UPSTREAMS: readonly Upstream[] = [
  { name: 'chat', protocol: 'chat', model: 'acme/chat' },
  { name: 'messages', protocol: 'messages', model: 'acme/messages' },
  { name: 'always', protocol: 'chat', model: 'acme/always', more: 'breaker: false' },
  { name: 'many-a', protocol: 'chat', model: 'acme/many', more: 'weight: 3' },
  { name: 'many-b', protocol: 'messages', model: 'acme/many' },
  { name: 'many-c', protocol: 'chat', model: 'acme/many', more: 'priority: 1' },
  { name: 'edge', protocol: 'messages', model: 'acme/backed', hasOwnPort: true },
  { name: 'sound', protocol: 'chat', model: 'acme/backed', isSound: true, more: 'priority: 1' },
]

export const MODELS = [...new Set(UPSTREAMS.map(({ model }) => model))]

/** Whoever stalls is waited for a second, and nobody for more than four. */
const TIMEOUT = '{ connect: 1s, first_byte: 1s, idle: 1s, total: 4s }'
const KEYS_EACH = 3

/** Each version has other keys, as after a rotation: those that a vendor has refused are forgotten. */
export function catalogText(upstream: FaultyUpstream, version: number): string {
  const models = MODELS.map(id => `  - { id: ${id}, price: { input: 0.35, output: 1.4 } }`)
  const channels = UPSTREAMS.map(({ name, protocol, model, more }) => {
    const keys = Array.from({ length: KEYS_EACH }, (_, key) => `vendor-key-${version}-${key}`)
    const fields = [
      ...[`name: ${name}`, `protocol: ${protocol}`, `base_url: ${upstream.base(name)}`],
      ...[`api_keys: [${keys.join(', ')}]`, `models: [${model}]`, `timeout: ${TIMEOUT}`],
      ...(more ? [more] : []),
    ]
    return `  - { ${fields.join(', ')} }`
  })
  return `models:\n${models.join('\n')}\nchannels:\n${channels.join('\n')}\n`
}
