import { expect } from 'bun:test'
import { messagesClient, PAIRS, PATHS } from '../pairs/pairs.ts'
import type { Duet, JsonBody } from '../support/duet.ts'
import { type Answer, MESSAGES, send } from '../support/http.ts'
import { vendorError } from '../support/vendor.ts'
import { expectError } from '../support/wire.ts'
import { caseOf } from './cases.ts'
import type { Claims } from './claims.ts'
import { bodyOf, type CaseStage, type Scene } from './play.ts'

interface Manner {
  readonly method?: string
  readonly path?: string
  readonly headers?: Record<string, string>
}

/** A plain request, in the manner that a case describes; without a credential in it, `x-api-key` is sent. */
async function call(stage: CaseStage, scene: Scene, manner: Manner): Promise<Answer> {
  const { method = 'POST', path = MESSAGES, headers = {} } = manner
  stage.script(scene)
  return send(stage.duet, path, {
    method,
    headers,
    body: JSON.stringify(bodyOf(scene)),
    ...('authorization' in headers && { key: null }),
  })
}

/** The answer of the upstream, whole, in the caller's protocol. */
function expectMessage({ status, body }: Answer): void {
  expect({ status, body }).toEqual({ status: 200, body: expect.objectContaining({ type: 'message' }) })
  expect(body.content).toEqual([{ type: 'text', text: 'Good morning' }])
}

function manneredAs(id: string, { key }: Duet): Manner {
  return JSON.parse(JSON.stringify(caseOf(id).request).replaceAll('KEY', key))
}

const VERSIONS = ['2026-10-21', '2023-06-01', undefined]

/** Plays an upstream that refuses a stream before its first byte, for every pair. */
async function eachRefusal(scene: Scene, stage: CaseStage, check: (answer: Answer) => void): Promise<void> {
  for (const pair of PAIRS) {
    const refused = {
      ...scene,
      pair,
      body: { stream: true },
      answer: () => Response.json(vendorError(pair.upstream, 'no such field'), { status: 400 }),
    }
    check(await call(stage, refused, { path: PATHS[pair.client] }))
  }
}

export const HTTP_CLAIMS: Claims = {
  'H-01': {
    '200': async (scene, stage) => expectMessage(await call(stage, scene, manneredAs('H-01', stage.duet))),
    '@anthropic-ai/sdk with baseURL "{base_url}" (ending in /v1) works unchanged': async (scene, stage) => {
      stage.script(scene)
      const message: JsonBody = await messagesClient(stage, { base: stage.duet.base }).messages.create(bodyOf(scene))
      expect(stage.duet.base).toEndWith('/v1')
      expect(message.content).toEqual([{ type: 'text', text: 'Good morning' }])
    },
  },
  'H-02': {
    '200': async (scene, stage) => {
      expectMessage(await call(stage, scene, manneredAs('H-02', stage.duet)))
      expectMessage(await call(stage, scene, {}))
    },
    'also with a bare key in Authorization': async (scene, stage) => {
      expectMessage(await call(stage, scene, { headers: { authorization: stage.duet.key } }))
    },
  },
  'H-03': {
    '200': async (scene, stage) => expectMessage(await call(stage, scene, manneredAs('H-03', stage.duet))),
  },
  'H-04': {
    '200': async (scene, stage) => {
      const { headers } = manneredAs('H-04', stage.duet)
      expectMessage(await call(stage, scene, { headers: headers ?? {} }))
      for (const version of VERSIONS) {
        expectMessage(await call(stage, scene, { headers: version ? { 'anthropic-version': version } : {} }))
      }
    },
  },
  'H-05': {
    'error.code model_not_found': async (scene, stage) => {
      const { status = 0 } = caseOf('H-05').expected
      expectError(await call(stage, unknownModel(scene), {}), { status, code: 'model_not_found' })
    },
    'top-level "type":"error" present so that the AI SDK shows error.message': async (scene, stage) => {
      const { body } = await call(stage, unknownModel(scene), {})
      expect(body.type).toBe('error')
      expect(body.error.message).toBeString()
    },
  },
  'H-06': {
    'content-type application/json': (scene, stage) =>
      eachRefusal(scene, stage, ({ headers, body }) => {
        expect(headers.get('content-type')).toBe('application/json')
        expect(body.error.message).toContain('no such field')
      }),
    'status mapped': (scene, stage) =>
      eachRefusal(scene, stage, answer => {
        expectError(answer, { status: 400, code: 'upstream_invalid_request' })
      }),
    'no SSE headers sent': (scene, stage) =>
      eachRefusal(scene, stage, ({ headers, text }) => {
        expect([...headers.values()].join()).not.toContain('event-stream')
        expect(headers.get('x-accel-buffering')).toBeNull()
        expect(text).not.toMatch(/^(?:data|event):/m)
      }),
  },
}

const unknownModel = (scene: Scene): Scene => ({ ...scene, body: { model: 'acme/nowhere' } })
