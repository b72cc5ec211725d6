import { bodyOf, framesOf, type Said } from '../../pairs/wire.ts'
import type { JsonBody } from '../../support/duet.ts'
import type { ProtocolName } from '../../support/wire.ts'

/** What the upstream of the table has to say, and how far it has come at each of its frames. */

/** Characters of one, two, three and four bytes, so that there is something to cut in every way. */
export const TEXT = 'Grüße! Most of 世界 is water 🌊, and what is not is mostly far away from here.'

/** Fewer tokens than anybody would count in `TEXT`, so that a count cannot be taken for a report. */
const USAGE = {
  chat: {
    prompt_tokens: 70,
    completion_tokens: 9,
    total_tokens: 79,
    prompt_tokens_details: { cached_tokens: 20, cache_write_tokens: 10 },
  },
  messages: { input_tokens: 40, output_tokens: 9, cache_read_input_tokens: 20, cache_creation_input_tokens: 10 },
}

/** The same as the books have it. */
export const PROMPT = { input: 40, cache_read: 20, cache_write: 10 }
export const REPORTED = { ...PROMPT, output: 9 }

const ANSWER: Said = { text: TEXT, finish: 'stop', usage: USAGE }

export const wholeBody = (protocol: ProtocolName): string => bodyOf(protocol, ANSWER)

export const frames = (protocol: ProtocolName): readonly string[] => framesOf(protocol, ANSWER)

/** One more piece of text, for answers that have no end. */
export function textFrame(protocol: ProtocolName, text: string): string {
  const said = framesOf(protocol, { text: '@', finish: 'stop' }).find(frame => frame.includes('"@"')) ?? ''
  return said.replace('"@"', JSON.stringify(text))
}

export type Landmark = 'first frame' | 'first text' | 'half the text' | 'finish reason' | 'usage' | 'end mark'

/** How many frames have been sent when a landmark has. */
export function placeOf(protocol: ProtocolName, landmark: Landmark): number {
  const all = frames(protocol)
  const spoken = all.flatMap((frame, place) => (textIn(frame) === '' ? [] : [place + 1]))
  const after = (isIt: (frame: string) => boolean) => all.findIndex(isIt) + 1
  switch (landmark) {
    case 'first frame':
      return 1
    case 'first text':
      return spoken[0] ?? 0
    case 'half the text':
      return spoken[Math.floor(spoken.length / 2)] ?? 0
    case 'finish reason':
      return after(hasReason)
    case 'usage':
      return after(hasUsage)
    case 'end mark':
      return all.length
  }
}

/** What somebody knows of an answer who has these frames of it. */
export interface Progress {
  readonly hasBegun: boolean
  readonly text: string
  /** It was said why the answer ended, so nothing of it is missing. */
  readonly isComplete: boolean
  /** What it cost was said. */
  readonly isCounted: boolean
  readonly isOver: boolean
}

export const NO_PROGRESS: Progress = {
  ...{ hasBegun: false, text: '', isComplete: false, isCounted: false, isOver: false },
}

export const WHOLE_PROGRESS: Progress = {
  ...{ hasBegun: true, text: TEXT, isComplete: true, isCounted: true, isOver: true },
}

export const progressOf = (sent: readonly string[]): Progress => ({
  hasBegun: sent.length > 0,
  text: sent.map(textIn).join(''),
  isComplete: sent.some(hasReason),
  isCounted: sent.some(hasUsage),
  isOver: sent.some(isEndMark),
})

function textIn(frame: string): string {
  const { choices, delta } = dataOf(frame) ?? {}
  return choices?.[0]?.delta?.content ?? delta?.text ?? ''
}

function hasReason(frame: string): boolean {
  const { choices, delta } = dataOf(frame) ?? {}
  return Boolean(choices?.[0]?.finish_reason ?? delta?.stop_reason)
}

/** The first frame of messages counts the prompt, and not yet the answer. */
function hasUsage(frame: string): boolean {
  const { usage } = dataOf(frame) ?? {}
  return Boolean(usage)
}

const isEndMark = (frame: string): boolean => frame.includes('[DONE]') || frame.includes('message_stop')

function dataOf(frame: string): JsonBody {
  const data = /^data: (.*)$/m.exec(frame)?.[1] ?? ''
  return data === '[DONE]' ? undefined : JSON.parse(data)
}
