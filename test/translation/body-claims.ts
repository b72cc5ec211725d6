import { expect } from 'bun:test'
import type { JsonBody } from '../support/duet.ts'
import { caseOf } from './cases.ts'
import { modelFor } from './channels.ts'
import type { Claim, Claims } from './claims.ts'
import type { Scene } from './play.ts'

/** The case with another answer of the upstream: a copy of its own, changed. */
function answering(id: string, change: (body: JsonBody) => void): (scene: Scene) => Scene {
  return scene => {
    const body = structuredClone(caseOf(id).upstream_response)
    change(body)
    return { ...scene, answer: () => Response.json(body) }
  }
}

const finishing = (id: string, reason: string | null) =>
  answering(id, body => {
    body.choices[0].finish_reason = reason
  })

const stopping = (id: string, reason: string) =>
  answering(id, body => {
    body.stop_reason = reason
  })

const ends =
  (vary: (scene: Scene) => Scene, read: (body: JsonBody) => unknown, wanted: string): Claim =>
  async (scene, stage) => {
    const { status, body } = await stage.play(vary(scene))
    expect(status).toBe(200)
    expect(read(body)).toBe(wanted)
  }

const stopReason = (body: JsonBody) => body.stop_reason
const finishReason = (body: JsonBody) => body.choices[0].finish_reason

export const BODY_CLAIMS: Claims = {
  'NO-01': {
    'id matches ^[0-9a-f]+$': async (scene, stage) => {
      expect((await stage.play(scene)).body.id).toMatch(/^[0-9a-f]+$/)
    },
    'model equals the requested catalog id': async (scene, stage) => {
      expect((await stage.play(scene)).body.model).toBe(modelFor({ upstream: 'chat', capabilities: {} }))
    },
    'no citations key on text blocks (null breaks the AI SDK)': async (scene, stage) => {
      for (const block of (await stage.play(scene)).body.content) expect(block).not.toHaveProperty('citations')
    },
  },
  'NO-02': {
    'no empty text block': async (scene, stage) => {
      const { content } = (await stage.play(scene)).body
      expect(content.map(({ type }: JsonBody) => type)).toEqual(['tool_use'])
    },
    'no caller key (null breaks the AI SDK)': async (scene, stage) => {
      for (const block of (await stage.play(scene)).body.content) expect(block).not.toHaveProperty('caller')
    },
  },
  'NO-04': {
    missing: async (scene, stage) => {
      const vary = answering('NO-04', body => {
        delete body.choices[0].message.tool_calls[0].function.arguments
      })
      const { content } = (await stage.play(vary(scene))).body
      expect(content).toEqual([{ type: 'tool_use', id: 'c1', name: 'now', input: {} }])
    },
  },
  'NO-08': {
    'length -> max_tokens': ends(finishing('NO-08', 'length'), stopReason, 'max_tokens'),
    'null -> end_turn': ends(finishing('NO-08', null), stopReason, 'end_turn'),
  },
  'NO-12': {
    'usage.input_tokens and usage.output_tokens are integers': async (scene, stage) => {
      const { input_tokens, output_tokens } = (await stage.play(scene)).body.usage
      expect([input_tokens, output_tokens].map(Number.isInteger)).toEqual([true, true])
    },
  },
  'NA-02': {
    'content is a string': async (scene, stage) => {
      expect((await stage.play(scene)).body.choices[0].message.content).toBeString()
    },
  },
  'NA-06': {
    'no reasoning_content': async (scene, stage) => {
      expect((await stage.play(scene)).body.choices[0].message.reasoning_content ?? null).toBeNull()
    },
  },
  'NA-07': {
    'choices has one item': async (scene, stage) => {
      expect((await stage.play(scene)).body.choices).toHaveLength(1)
    },
    'message.content is "" or null': async (scene, stage) => {
      expect(['', null]).toContain((await stage.play(scene)).body.choices[0].message.content)
    },
  },
  'NA-09': {
    'pause_turn -> stop': ends(stopping('NA-09', 'pause_turn'), finishReason, 'stop'),
    'stop_sequence -> stop': ends(stopping('NA-09', 'stop_sequence'), finishReason, 'stop'),
    'unknown -> stop': ends(stopping('NA-09', 'unknown'), finishReason, 'stop'),
  },
}
