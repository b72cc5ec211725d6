import type { JsonBody } from '../../support/duet.ts'
import { eventStream } from '../../support/upstream.ts'
import { chatFrame } from '../../support/vendor.ts'
import { eventLines } from '../frames.ts'
import { call, useKinds } from './stage.ts'

/** Chunks of a chat upstream, and what a messages caller makes of them. */

export const DONE = 'data: [DONE]\n\n'
export const ASKED = { stream: true, max_tokens: 4000, thinking: { type: 'enabled', budget_tokens: 1024 } }
export const chunk = (delta: object, finish_reason: string | null = null, more: object = {}) =>
  chatFrame({ delta, finish_reason }, more)
export const made = (index: number, made: string, more: object = {}) =>
  chunk({ tool_calls: [{ index, function: { arguments: made }, ...more }] })
export const opens = (index: number, id: string, name = 'f', args = '') =>
  chunk({ tool_calls: [{ index, ...call(id, name, args) }] })
export const stop = (reason = 'stop') => [chunk({}, reason), DONE]
export const ends = (reason = 'end_turn') => [`message_delta stop_reason=${reason} stop_sequence=null`, 'message_stop']

export function useChatStream() {
  const stage = useKinds({ chat: { protocol: 'chat' } })
  const play = (...frames: readonly string[]) =>
    stage.ask('messages', 'chat', ASKED, { answer: () => eventStream(frames) })
  const final = (...frames: readonly string[]): Promise<JsonBody> =>
    stage.official('messages', 'chat', ASKED, () => eventStream(frames))
  return {
    stage,
    play,
    final,
    lines: async (...frames: readonly string[]) => eventLines((await play(...frames)).text),
    content: async (...frames: readonly string[]): Promise<JsonBody[]> =>
      (await final(...frames)).content.map(({ parsed_output: _, ...block }: JsonBody) => block),
  }
}
