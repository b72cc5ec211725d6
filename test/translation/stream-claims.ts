import { expect } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { framesOf } from '../support/http.ts'
import { eventStream } from '../support/upstream.ts'
import { caseOf } from './cases.ts'
import type { Claim, Claims } from './claims.ts'
import { chunkLines, errorLine, eventLines } from './frames.ts'
import { official, type Played, rejection, type Scene } from './play.ts'

/** What the client received, in the fixture's notation. */
export function linesOf({ pair }: Scene, { status, text, body }: Played): readonly string[] {
  // Before its first byte an answer can still fail with a status, and then does (H-06): its one event is the body.
  if (status !== 200) return [errorLine(body)]
  return pair.client === 'messages' ? eventLines(text) : chunkLines(text)
}

const BROKEN_MESSAGES: Readonly<Record<string, Claim>> = {
  'official SDK rejects the stream': async (scene, stage) => {
    expect(await rejection(stage, scene)).toBeInstanceOf(Anthropic.APIError)
  },
  'nothing is sent after the error event': async (scene, stage) => {
    const lines = linesOf(scene, await stage.play(scene))
    expect(lines.findIndex(line => line.startsWith('error'))).toBe(lines.length - 1)
  },
  'no message_delta, no message_stop': async (scene, stage) => {
    expect((await stage.play(scene)).text).not.toMatch(/message_delta|message_stop/)
  },
}

const BROKEN_CHAT: Readonly<Record<string, Claim>> = {
  'official SDK throws': async (scene, stage) => {
    expect(await rejection(stage, scene)).toBeInstanceOf(OpenAI.APIError)
  },
  'no finish_reason chunk': async (scene, stage) => {
    const frames = framesOf((await stage.play(scene)).text)
    expect(frames.flatMap(({ json }) => json?.choices?.[0]?.finish_reason ?? [])).toEqual([])
  },
}

export const STREAM_CLAIMS: Claims = {
  'SO-17': {
    missing: async (scene, stage) => {
      const { upstream_frames: frames = [], expected } = caseOf('SO-17')
      const without = frames.map(frame => frame.replace(',"arguments":null', ''))
      expect(without).not.toEqual([...frames])
      const varied = { ...scene, answer: () => eventStream(without) }
      expect(linesOf(varied, await stage.play(varied))).toEqual(expected.client_events ?? [])
    },
  },
  'SO-59': {
    unique: async (scene, stage) => {
      const [first, second] = [await official(stage, scene), await official(stage, scene)]
      expect(first.content[0].id).not.toBe(second.content[0].id)
    },
  },
  'SO-41': BROKEN_MESSAGES,
  'SO-42': BROKEN_MESSAGES,
  'SO-43': BROKEN_MESSAGES,
  'SO-44': BROKEN_MESSAGES,
  'SO-45': BROKEN_MESSAGES,
  'SA-23': BROKEN_CHAT,
  'SA-24': BROKEN_CHAT,
}
