import type { FinishReason } from '../../core/turn.ts'
import type { View } from '../protocol.ts'
import { unwrapText } from './text-tools.ts'
import { FINISH_REASONS } from './wire.ts'

/** A call as the vocabulary has it, with its place among the calls of the answer. */
export interface Call {
  readonly index: number
  readonly id: string
  readonly name: string
}

/** The three forms in which this dialect writes calls: functions, tools that take text, and the one before `tools`. */
export interface Form {
  start(call: Call): unknown
  fragment(index: number, text: string): unknown
  whole(call: Call, made: string): unknown
  /** The text cannot be told from its JSON before it is complete. */
  readonly isHeldBack: boolean
}

const FUNCTION: Form = {
  start: ({ index, id, name }) => ({
    tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }],
  }),
  fragment: (index, text) => ({ tool_calls: [{ index, function: { arguments: text } }] }),
  whole: ({ id, name }, made) => ({ id, type: 'function', function: { name, arguments: made } }),
  isHeldBack: false,
}

const TEXT: Form = {
  start: ({ index, id, name }) => ({ tool_calls: [{ index, id, type: 'custom', custom: { name, input: '' } }] }),
  fragment: (index, text) => ({ tool_calls: [{ index, custom: { input: unwrapText(text) } }] }),
  whole: ({ id, name }, made) => ({ id, type: 'custom', custom: { name, input: unwrapText(made) } }),
  isHeldBack: true,
}

/** There is room for one call in it; those behind the first are not written. */
const LEGACY: Form = {
  start: ({ index, name }) => (index === 0 ? { function_call: { name, arguments: '' } } : undefined),
  fragment: (index, text) => (index === 0 ? { function_call: { arguments: text } } : undefined),
  whole: ({ name }, made) => ({ name, arguments: made }),
  isHeldBack: false,
}

export function formOf(name: string, { legacyCalls, textTools }: View): Form {
  if (legacyCalls) return LEGACY
  return textTools.has(name) ? TEXT : FUNCTION
}

/** The members of a whole message that hold its calls. */
export function wholeCalls(calls: readonly (Call & { readonly arguments: string })[], view: View) {
  const written = calls.map(call => formOf(call.name, view).whole(call, call.arguments || '{}'))
  if (written.length === 0) return {}
  return view.legacyCalls ? { function_call: written[0] } : { tool_calls: written }
}

export const finishReason = (reason: FinishReason, { legacyCalls }: View): string =>
  legacyCalls && reason === 'tool-calls' ? 'function_call' : FINISH_REASONS[reason]
