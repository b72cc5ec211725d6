import { chooseTools } from './choose.ts'
import type { Directives } from './directives.ts'
import { hexId, pickNumber, signatureOf } from './ids.ts'
import type { Prompt, Tool } from './prompt.ts'
import { objectFor } from './schema/value.ts'
import { documentText, plainText, reasoningText } from './speech.ts'
import { countTokens, resizeDocument, resizeText, tokensOf } from './tokens.ts'

/** What the vendor's model says, before a dialect puts it on the wire. Texts are lists of tokens. */
export interface Answer {
  readonly id: string
  readonly model: string
  /** Absent when the model does not think. */
  readonly reasoning?: { readonly tokens: readonly string[]; readonly signature: string }
  readonly text: readonly string[]
  readonly calls: readonly ToolCall[]
  readonly ending: Ending
  /** Absent when the request wants to see an answer without usage. */
  readonly usage?: Usage
}

export interface ToolCall {
  readonly id: string
  readonly name: string
  readonly arguments: readonly string[]
}

export type Ending =
  | { readonly reason: 'end' | 'length' | 'tool-calls' }
  | { readonly reason: 'stop-sequence'; readonly sequence: string }

export interface Usage {
  readonly input: number
  /** Everything the model wrote, reasoning included. */
  readonly output: number
  readonly reasoning: number
}

export interface Circumstances {
  readonly seed: string
  readonly thinks: boolean
  readonly directives: Directives
}

type Content = Pick<Answer, 'text' | 'calls' | 'ending'>

/** Spec 8.1: one model billed 261 tokens with a cap of 12, so a cap says nothing about reasoning here either. */
const REASONING_TOKENS_MIN = 220
const REASONING_TOKENS_MAX = 280

export function answerTo(prompt: Prompt, { seed, thinks, directives }: Circumstances): Answer {
  const tools = chooseTools(prompt)
  const content = tools.length > 0 ? callContent(prompt, tools, seed) : textContent(prompt, directives)
  const billedReasoning = thinks ? pickNumber(seed, REASONING_TOKENS_MIN, REASONING_TOKENS_MAX) : 0

  return {
    id: hexId(seed, 'answer'),
    model: prompt.model,
    ...(thinks && { reasoning: { tokens: tokensOf(reasoningText(prompt, tools)), signature: signatureOf(seed) } }),
    ...content,
    ...(!directives.withoutUsage && { usage: usageOf(prompt, content, billedReasoning) }),
  }
}

function textContent(prompt: Prompt, directives: Directives): Content {
  const whole = textTokens(prompt, directives.tokens)
  const stop = firstStop(whole.join(''), prompt.stopSequences)
  const tokens = stop === undefined ? whole : tokensOf(whole.join('').slice(0, stop.at))
  if (tokens.length > prompt.maxTokens) {
    return { text: tokens.slice(0, prompt.maxTokens), calls: [], ending: { reason: 'length' } }
  }
  const ending: Ending = stop === undefined ? { reason: 'end' } : { reason: 'stop-sequence', sequence: stop.sequence }
  return { text: tokens, calls: [], ending }
}

function textTokens(prompt: Prompt, size: number | undefined): readonly string[] {
  if (prompt.format.type === 'json') {
    const document = tokensOf(documentText(prompt, prompt.format.schema))
    return size === undefined ? document : resizeDocument(document, size)
  }
  const text = tokensOf(plainText(prompt))
  return size === undefined ? text : resizeText(text, size)
}

function firstStop(text: string, sequences: readonly string[]): { at: number; sequence: string } | undefined {
  return sequences
    .map(sequence => ({ at: text.indexOf(sequence), sequence }))
    .filter(({ at }) => at >= 0)
    .toSorted((one, other) => one.at - other.at)[0]
}

function callContent(prompt: Prompt, tools: readonly Tool[], seed: string): Content {
  const calls: ToolCall[] = []
  let left = prompt.maxTokens
  for (const [index, tool] of tools.entries()) {
    if (left <= 0) return { text: [], calls, ending: { reason: 'length' } }
    const whole = tokensOf(JSON.stringify(objectFor(tool.schema, subjectFor(tool, prompt))))
    calls.push({ id: hexId(seed, `call ${index}`), name: tool.name, arguments: whole.slice(0, left) })
    left -= whole.length
  }
  return { text: [], calls, ending: { reason: left < 0 ? 'length' : 'tool-calls' } }
}

/** What a call is about: the question. A tool that takes anything gets what earlier calls have found out about it. */
function subjectFor({ schema }: Tool, { question, results }: Prompt): string {
  const takesAnything = typeof schema === 'boolean' || Object.keys(schema.properties ?? {}).length === 0
  return takesAnything && results.length > 0 ? results.map(({ text }) => text).join(' ') : question
}

function usageOf(prompt: Prompt, { text, calls }: Content, reasoning: number): Usage {
  const input = prompt.inputTexts.reduce((sum, each) => sum + countTokens(each), 0)
  const visible = calls.reduce((sum, call) => sum + call.arguments.length, text.length)
  return { input, output: visible + reasoning, reasoning }
}
