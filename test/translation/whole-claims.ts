import { expect } from 'bun:test'
import type { JsonBody } from '../support/duet.ts'
import { eventStream } from '../support/upstream.ts'
import { caseOf } from './cases.ts'
import type { Claims } from './claims.ts'
import { official, rejection, type Scene, sceneOf } from './play.ts'
import { wholeBody } from './whole.ts'

/** A body has one place for thoughts: that they went on after a call is something only a stream can tell. */
const UNTOLD_ORDER: readonly string[] = ['SO-31']

/** What one client makes of the same answer, streamed and whole. */
interface Both {
  readonly streamed: Scene
  readonly whole: Scene
  /** What the vendor sent. */
  readonly text: string
}

function bothOf(id: string): Both {
  const each = caseOf(id)
  const scene = sceneOf(each)
  const { upstream_frames: frames = [] } = each
  const text = wholeBody(scene.pair.upstream, frames.join(''))
  const { stream: _, stream_options: __, ...body } = scene.body
  const usage = scene.pair.client === 'chat' ? { stream_options: { include_usage: true } } : {}
  return {
    text,
    streamed: { ...scene, body: { ...scene.body, ...usage }, answer: () => eventStream(frames) },
    whole: { ...scene, body, answer: () => new Response(text, { headers: { 'content-type': 'application/json' } }) },
  }
}

export const wholeClaims = (id: string): Claims => ({
  'H-14': {
    'accumulated stream equals the non-stream translation of the equivalent body (ids aside)': async (_, stage) => {
      const { streamed, whole, text } = bothOf(id)
      const { final_message, final_completion } = caseOf(id).expected
      if (!final_message && !final_completion) {
        expect(await rejection(stage, streamed)).toBeInstanceOf(Error)
        expect((await rejection(stage, whole)).status).toBe(502)
        return
      }
      const told = final_message ? messageEssence : completionEssence
      const essence = UNTOLD_ORDER.includes(id) ? (answer: JsonBody) => byType(told(answer, text)) : told
      expect(essence(await official(stage, streamed), text)).toEqual(essence(await official(stage, whole), text))
    },
  },
})

/** Estimates of what no vendor counted may differ: one is made of pieces, the other of a whole. */
const isCounted = (text: string): boolean => text.includes('"usage"')

function messageEssence({ type, role, model, content, stop_reason, stop_sequence, usage }: JsonBody, text: string) {
  const blocks = content.map((block: JsonBody) => (block.id ? { ...block, id: known(block.id, text) } : block))
  // The helper of the client keeps the counters it knows, and no others.
  const { cost: _, ...counters } = usage
  const counted = isCounted(text) ? counters : undefined
  return { type, role, model, content: blocks, stop_reason, stop_sequence, counted }
}

function completionEssence({ model, choices, usage }: JsonBody, text: string) {
  const [{ message, finish_reason }] = choices
  const { role, content, tool_calls, reasoning_content, refusal } = message
  return {
    model,
    role,
    refusal,
    finish_reason,
    // The helper of the client makes null of a text that stays empty.
    content: content || null,
    calls: tool_calls ?? [],
    reasoning: reasoning_content ?? null,
    counted: isCounted(text) ? usage : undefined,
  }
}

/** An id that the vendor did not send was made up, a new one each time. */
const known = (id: string, text: string): string => (text.includes(`"${id}"`) ? id : '<minted>')

function byType({ content, ...rest }: JsonBody): JsonBody {
  const all = (type: string) => content.filter((block: JsonBody) => block.type === type)
  const said = (type: string) =>
    all(type)
      .map((block: JsonBody) => block[type])
      .join('')
  return { ...rest, thinking: said('thinking'), text: said('text'), calls: all('tool_use') }
}
