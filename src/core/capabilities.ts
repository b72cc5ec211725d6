import type { ProtocolName } from './ask.ts'
import type { Effort } from './effort.ts'

/** What an upstream can be given. Two vendors that speak one dialect differ only in such a row. */
export interface Capabilities {
  /** The name of the limit; only one of the two is ever sent. */
  readonly maxTokensField: 'max_tokens' | 'max_completion_tokens'
  /** Takes `temperature`, `top_p` and the like. Newer reasoning models refuse them even at their defaults. */
  readonly sampling: boolean
  readonly temperatureMax: number
  /** Refuses `temperature` and `top_p` together. */
  readonly temperatureXorTopP: boolean
  readonly topK: boolean
  readonly tools: boolean
  /** Can be told to call one tool at a time. */
  readonly parallelTools: boolean
  readonly strictTools: boolean
  /** Answers by a JSON schema of its own accord. */
  readonly structuredOutput: boolean
  readonly jsonObject: boolean
  /** Undefined where nobody said: the model's `images` decide alone. */
  readonly vision: boolean | undefined
  readonly documents: boolean
  /** Takes a word of the system in the middle of a conversation. */
  readonly midSystem: boolean
  readonly developerRole: boolean
  /** Continues what the assistant has begun to say. */
  readonly prefill: boolean
  /** Decides itself how long to think, given an effort; others are given a budget. */
  readonly adaptiveThinking: boolean
  /** May be told not to think. */
  readonly disableThinking: boolean
  /** The words for it that an upstream knows; others are moved to the nearest of these. */
  readonly efforts: readonly Effort[]
  /** Wants its reasoning back in the history. */
  readonly reasoningReplay: boolean
  readonly cacheControl: boolean
  readonly userField: 'user' | 'safety_identifier' | 'none'
  readonly serviceTier: boolean
  /** Counts the tokens of a stream when asked to. */
  readonly streamUsage: boolean
  /** Takes a list of texts where others want one string. */
  readonly partsArray: boolean
  readonly contentArrayInTool: boolean
  /** Histories with calls or results missing are mended on their way to it. */
  readonly repair: boolean
}

/** As operators write it: `maxTokensField` is `max_tokens_field` to them. */
export const operatorsName = (capability: string): string =>
  capability.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)

const COMMON = {
  maxTokensField: 'max_tokens',
  sampling: true,
  tools: true,
  parallelTools: true,
  strictTools: false,
  vision: undefined,
  documents: false,
  developerRole: false,
  prefill: false,
  adaptiveThinking: false,
  disableThinking: true,
  reasoningReplay: false,
  userField: 'user',
  serviceTier: true,
  streamUsage: true,
  partsArray: false,
  contentArrayInTool: false,
  repair: true,
} as const

/** What is assumed of an upstream of which nothing is known but its dialect. */
export const DEFAULT_CAPABILITIES: Readonly<Record<ProtocolName, Capabilities>> = {
  chat: {
    ...COMMON,
    temperatureMax: 2,
    temperatureXorTopP: false,
    topK: false,
    structuredOutput: true,
    jsonObject: true,
    midSystem: true,
    cacheControl: false,
    efforts: ['low', 'medium', 'high'],
  },
  messages: {
    ...COMMON,
    temperatureMax: 1,
    temperatureXorTopP: true,
    topK: true,
    structuredOutput: false,
    jsonObject: false,
    midSystem: false,
    cacheControl: true,
    efforts: ['low', 'medium', 'high', 'xhigh', 'max'],
  },
}
