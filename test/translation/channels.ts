import { type Protocol, VENDOR_KEY, VENDOR_MODEL } from '../pairs/pairs.ts'
import { CASES, type Capabilities, casesOf, pairOf } from './cases.ts'

/** An upstream that a case asks for: what it speaks, and what it can do beyond the defaults. */
interface Row {
  readonly upstream: Protocol
  readonly capabilities: Capabilities
}

/** Upstreams that only a claim of a case asks for. */
const BESIDES: readonly Row[] = [
  { upstream: 'messages', capabilities: { adaptiveThinking: true, disableThinking: false } },
]

const ROWS: readonly Row[] = distinct([
  { upstream: 'chat', capabilities: {} },
  { upstream: 'messages', capabilities: {} },
  ...CASES.filter(each => !casesOf('http').includes(each)).map(each => ({
    upstream: pairOf(each).upstream,
    capabilities: each.upstream_capabilities ?? {},
  })),
  ...BESIDES,
])

function distinct(rows: readonly Row[]): readonly Row[] {
  return [...new Map(rows.map(row => [nameOf(row), row])).values()]
}

/** Each upstream has a model of its own, so that a request finds it by the model's name. */
export function modelFor(row: Row): string {
  const name = nameOf(row)
  if (!ROWS.some(each => nameOf(each) === name)) throw new Error(`no channel for ${name}`)
  return `acme/${name}`
}

function nameOf({ upstream, capabilities }: Row): string {
  return [upstream, ...Object.entries(capabilities).map(([name, value]) => `${underscored(name)}-${value}`)].join('-')
}

function underscored(name: string): string {
  return name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
}

/** JSON is YAML, and needs no care for indentation. */
export function configFor(base: string): string {
  const models = ROWS.map(row => ({ id: modelFor(row), price: { input: 1, output: 4 } }))
  const channels = ROWS.map(row => ({
    name: nameOf(row),
    protocol: row.upstream,
    base_url: base,
    // One odd answer after the other, each to be judged by itself.
    breaker: false,
    api_key: VENDOR_KEY,
    models: { [modelFor(row)]: VENDOR_MODEL },
    capabilities: Object.fromEntries(
      Object.entries(row.capabilities).map(([name, value]) => [underscored(name), value]),
    ),
  }))
  return JSON.stringify({ models, channels })
}
