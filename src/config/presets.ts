import type { ProtocolName } from '../core/ask.ts'
import { vendorNameOf } from './builtin.ts'

export const DEFAULT_TIMEOUTS = { connectMs: 5_000, firstByteMs: 60_000, idleMs: 60_000 }

/** Well-known upstreams by name, so that a channel needs no address, and by the variable people already have set. */
export interface Preset {
  readonly protocol: ProtocolName
  readonly baseUrl: string
  /** Variables that hold this vendor's key, in the order of preference. */
  readonly variables: readonly string[]
  /** Which vendors of the catalog it serves; `all` for resellers, which know models by their catalog id. */
  readonly serves: readonly string[] | 'all'
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens'
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
    maxTokensField: 'max_completion_tokens',
  },
  anthropic: {
    protocol: 'messages',
    baseUrl: 'https://api.anthropic.com/v1',
    variables: ['ANTHROPIC_API_KEY'],
    serves: ['anthropic'],
  },
  openrouter: {
    protocol: 'chat',
    baseUrl: 'https://openrouter.ai/api/v1',
    variables: ['OPENROUTER_API_KEY'],
    serves: 'all',
    withheld: ['models', 'route', 'provider', 'preset', 'plugins'],
  },
  deepseek: {
    protocol: 'chat',
    baseUrl: 'https://api.deepseek.com/v1',
    variables: ['DEEPSEEK_API_KEY'],
    serves: ['deepseek'],
  },
  gemini: {
    protocol: 'chat',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
    variables: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    serves: ['google'],
  },
  mistral: {
    protocol: 'chat',
    baseUrl: 'https://api.mistral.ai/v1',
    variables: ['MISTRAL_API_KEY'],
    serves: ['mistralai'],
  },
  groq: { protocol: 'chat', baseUrl: 'https://api.groq.com/openai/v1', variables: ['GROQ_API_KEY'], serves: [] },
  xai: { protocol: 'chat', baseUrl: 'https://api.x.ai/v1', variables: ['XAI_API_KEY'], serves: ['x-ai'] },
  moonshot: {
    protocol: 'chat',
    baseUrl: 'https://api.moonshot.ai/v1',
    variables: ['MOONSHOT_API_KEY'],
    serves: ['moonshotai'],
  },
  dashscope: {
    protocol: 'chat',
    baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
    variables: ['DASHSCOPE_API_KEY'],
    serves: ['qwen'],
  },
  zai: { protocol: 'chat', baseUrl: 'https://api.z.ai/api/paas/v4', variables: ['ZAI_API_KEY'], serves: ['z-ai'] },
  ollama: { protocol: 'chat', baseUrl: 'http://127.0.0.1:11434/v1', variables: [], serves: [], keyless: true },
  vllm: { protocol: 'chat', baseUrl: 'http://127.0.0.1:8000/v1', variables: [], serves: [], keyless: true },
}

/** The catalog's models that a preset serves, under the names it knows. */
export function presetModels({ serves }: Preset, ids: readonly string[]): Map<string, string> {
  if (serves === 'all') return new Map(ids.map(id => [id, id]))
  const served = ids.filter(id => serves.includes(id.slice(0, id.indexOf('/'))))
  return new Map(served.map(id => [id, vendorNameOf(id)]))
}
