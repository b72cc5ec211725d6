import { describe, expect, test } from 'bun:test'
import { asGatewayError, type Failure, wireOf } from '../../src/core/failure.ts'
import { PROTOCOLS } from '../../src/protocol/protocols.ts'

type Blamed = 'request' | 'key' | undefined

/** What vendors put into the `error` of an answer whose status was good. */
const ROWS: [error: unknown, blames: Blamed][] = [
  [{ type: 'invalid_request_error', message: 'prompt is too long' }, 'request'],
  [{ type: 'invalid_request_error', code: 'context_length_exceeded' }, 'request'],
  [{ type: 'Invalid_Request', code: null }, 'request'],
  [{ type: 'not_found_error' }, 'request'],
  [{ type: 'request_too_large' }, 'request'],
  [{ type: 'BadRequestError', code: 400 }, 'request'],
  [{ code: 'content_filter' }, 'request'],
  [{ code: 'moderation' }, 'request'],
  [{ code: 404 }, 'request'],
  [{ code: '413' }, 'request'],
  [{ status: 422 }, 'request'],
  [{ status: 'INVALID_ARGUMENT' }, 'request'],
  [{ type: 'authentication_error' }, 'key'],
  [{ type: 'permission_error' }, 'key'],
  [{ type: 'billing_error' }, 'key'],
  [{ type: 'insufficient_quota', code: 'insufficient_quota' }, 'key'],
  [{ type: 'rate_limit_error' }, 'key'],
  [{ type: 'tokens', code: 'rate_limit_exceeded' }, 'key'],
  [{ type: 'invalid_request_error', code: 'invalid_api_key' }, 'key'],
  [{ status: 'RESOURCE_EXHAUSTED', code: 429 }, 'key'],
  [{ code: 401 }, 'key'],
  [{ code: 402 }, 'key'],
  [{ code: '403' }, 'key'],
  [{ type: 'overloaded_error' }, undefined],
  [{ type: 'api_error' }, undefined],
  [{ type: 'server_error', code: 500 }, undefined],
  [{ type: 'timeout_error', code: 504 }, undefined],
  [{ code: 529 }, undefined],
  [{ type: 'something_new' }, undefined],
  [{ message: 'invalid_request_error' }, undefined],
  [{ type: { toString: 1 }, code: ['400'], status: true }, undefined],
  [{}, undefined],
  ['invalid_request_error', undefined],
  [400, undefined],
  [true, undefined],
  [[{ code: 400 }], undefined],
]

function failureOf(read: () => unknown): Failure {
  try {
    read()
  } catch (error) {
    return asGatewayError(error).failure
  }
  throw new Error('it was taken for an answer')
}

const decoded = (protocol: keyof typeof PROTOCOLS, data: string, event = 'message'): Failure =>
  failureOf(() => PROTOCOLS[protocol].decodeStream({ callsMayOverlap: true }).push({ event, data }))

describe('an error in an answer whose status was good says whose fault it is', () => {
  for (const protocol of ['chat', 'messages'] as const) {
    for (const [error, blames] of ROWS) {
      test(`${protocol}: ${JSON.stringify(error)} blames ${blames ?? 'nobody else'}`, () => {
        const data = JSON.stringify({ type: 'error', error })
        for (const failure of [decoded(protocol, data), failureOf(() => PROTOCOLS[protocol].decodeBody(data))]) {
          expect(failure).toMatchObject({ kind: 'upstream-error', blames })
        }
      })
    }
  }

  test('also where the event itself is the error', () => {
    const refused = '{"message":"Too long","code":400}'
    const problem = 'The upstream reported an error: Too long'
    expect(decoded('messages', refused, 'error')).toEqual({ kind: 'upstream-error', problem, blames: 'request' })
    const failed = decoded('messages', '{"type":"error","message":"Too busy"}')
    expect(failed).toMatchObject({ kind: 'upstream-error', blames: undefined })
  })
})

test('whomever it blames, the caller sees the same failure', () => {
  const wires = [{ type: 'invalid_request_error' }, { code: 429 }, { type: 'api_error' }].map(error =>
    wireOf(decoded('chat', JSON.stringify({ error: { ...error, message: 'No' } }))),
  )
  for (const wire of wires) {
    expect(wire).toMatchObject({ status: 502, code: 'upstream_error', message: 'The upstream reported an error: No' })
  }
})
