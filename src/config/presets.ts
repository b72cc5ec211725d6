import type { ProtocolName } from '../core/ask.ts'
import { type Capabilities, DEFAULT_CAPABILITIES } from '../core/capabilities.ts'
import type { BreakerSettings, ChannelTimeouts, ServedModel } from '../core/catalog.ts'
import { vendorNameOf } from './builtin.ts'

type Given = Partial<Capabilities>

export const DEFAULT_TIMEOUTS: ChannelTimeouts = {
  connectMs: 5_000,
  firstByteMs: 60_000,
  idleMs: 60_000,
  // The longest answers there are, at the slowest pace that anyone waits for.
  totalMs: 3_600_000,
}

/** A hiccup is over in a second; an outage is asked about once a minute. */
export const DEFAULT_BREAKER: BreakerSettings = { failures: 5, coolDownMs: 1_000, coolDownMsMax: 60_000 }

/** Well-known upstreams by name, so that a channel needs no address, and by the variable people already have set. */
export interface Preset {
  readonly protocol: ProtocolName
  readonly baseUrl: string
  /** Variables that hold this vendor's key, in the order of preference. */
  readonly variables: readonly string[]
  /** Which vendors of the catalog it serves; `all` for resellers, which know models by their catalog id. */
  readonly serves: readonly string[] | 'all'
  /** Where it differs from what its dialect suggests. */
  readonly capabilities?: Given
  /** Models of this vendor that differ from its others, by the names it knows. */
  readonly special?: readonly { readonly names: RegExp; readonly capabilities: Given }[]
  /** Fields by which a caller could choose another model, or a dearer way to it. */
  readonly withheld?: readonly string[]
  /** Servers on one's own machine want no key. */
  readonly keyless?: true
}

export const PRESETS: Readonly<Record<string, Preset>> = {
  openai: {
    protocol: 'chat',
    baseUrl: 'https://api.openai.com/v1',
    variables: ['OPENAI_API_KEY'],
    serves: ['openai'],
    capabilities: { maxTokensField: 'max_completion_tokens', developerRole: true, strictTools: true, documents: true },
    special: [
      { names: /^o\d/, capabilities: { sampling: false } },
      {
        names: /^gpt-5(-(mini|nano|pro|codex))?(-\d|$)/,
        capabilities: { sampling: false, efforts: ['minimal', 'low', 'medium', 'high'] },
      },
      { names: /^gpt-5\.\d/, capabilities: { sampling: false, efforts: ['none', 'low', 'medium', 'high', 'xhigh'] } },
    ],
  },
  anthropic: {
    protocol: 'messages',
    baseUrl: 'https://api.anthropic.com/v1',
    variables: ['ANTHROPIC_API_KEY'],
    serves: ['anthropic'],
    capabilities: { documents: true },
    special: [
      { names: /^claude-(3|[a-z]+-4-[0-5](-|$))/, capabilities: { prefill: true } },
      { names: /^claude-[a-z]+-(4-[5-9](-|$)|[5-9])/, capabilities: { structuredOutput: true, strictTools: true } },
      { names: /^claude-[a-z]+-(4-[6-9](-|$)|[5-9])/, capabilities: { adaptiveThinking: true } },
      { names: /^claude-[a-z]+-(4-[7-9](-|$)|[5-9])/, capabilities: { sampling: false } },
    ],
  },
  openrouter: {
    protocol: 'chat',
    baseUrl: 'https://openrouter.ai/api/v1',
    variables: ['OPENROUTER_API_KEY'],
    serves: 'all',
    withheld: ['models', 'route', 'provider', 'preset', 'plugins'],
    capabilities: {
      topK: true,
      cacheControl: true,
      documents: true,
      efforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'],
    },
  },
  deepseek: {
    protocol: 'chat',
    baseUrl: 'https://api.deepseek.com/v1',
    variables: ['DEEPSEEK_API_KEY'],
    serves: ['deepseek'],
    capabilities: { vision: false, structuredOutput: false, reasoningReplay: true, serviceTier: false },
  },
  gemini: {
    protocol: 'chat',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
    variables: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    serves: ['google'],
    capabilities: { efforts: ['none', 'minimal', 'low', 'medium', 'high'], serviceTier: false },
  },
  mistral: {
    protocol: 'chat',
    baseUrl: 'https://api.mistral.ai/v1',
    variables: ['MISTRAL_API_KEY'],
    serves: ['mistralai'],
    // It refuses every field it does not know, and counts the tokens of a stream unasked.
    capabilities: { userField: 'none', serviceTier: false, streamUsage: false },
  },
  groq: { protocol: 'chat', baseUrl: 'https://api.groq.com/openai/v1', variables: ['GROQ_API_KEY'], serves: [] },
  xai: { protocol: 'chat', baseUrl: 'https://api.x.ai/v1', variables: ['XAI_API_KEY'], serves: ['x-ai'] },
  moonshot: {
    protocol: 'chat',
    baseUrl: 'https://api.moonshot.ai/v1',
    variables: ['MOONSHOT_API_KEY'],
    serves: ['moonshotai'],
    capabilities: { reasoningReplay: true, serviceTier: false },
  },
  dashscope: {
    protocol: 'chat',
    baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
    variables: ['DASHSCOPE_API_KEY'],
    serves: ['qwen'],
    capabilities: { topK: true, serviceTier: false },
  },
  zai: {
    protocol: 'chat',
    baseUrl: 'https://api.z.ai/api/paas/v4',
    variables: ['ZAI_API_KEY'],
    serves: ['z-ai'],
    capabilities: { structuredOutput: false, userField: 'none', serviceTier: false },
  },
  ollama: {
    protocol: 'chat',
    baseUrl: 'http://127.0.0.1:11434/v1',
    variables: [],
    serves: [],
    keyless: true,
    capabilities: { parallelTools: false, serviceTier: false },
  },
  vllm: {
    protocol: 'chat',
    baseUrl: 'http://127.0.0.1:8000/v1',
    variables: [],
    serves: [],
    keyless: true,
    capabilities: { topK: true, serviceTier: false },
  },
}

/** The catalog's models that a preset serves, under the names it knows. */
export function presetModels({ serves }: Preset, ids: readonly string[]): Map<string, string> {
  if (serves === 'all') return new Map(ids.map(id => [id, id]))
  const served = ids.filter(id => serves.includes(id.slice(0, id.indexOf('/'))))
  return new Map(served.map(id => [id, vendorNameOf(id)]))
}

/** What an upstream can do with each model: what its dialect suggests, then its vendor, then what the operator says. */
export function servedModels(
  names: ReadonlyMap<string, string>,
  { protocol, preset, given = {} }: { protocol: ProtocolName; preset?: Preset | undefined; given?: Given },
): Map<string, ServedModel> {
  const served = [...names].map(([id, name]): [string, ServedModel] => {
    const special = preset?.special?.filter(({ names }) => names.test(name)) ?? []
    const layers = [
      DEFAULT_CAPABILITIES[protocol],
      preset?.capabilities,
      ...special.map(row => row.capabilities),
      given,
    ]
    return [id, { name, capabilities: Object.assign({}, ...layers) as Capabilities }]
  })
  return new Map(served)
}
