import { afterAll, beforeAll, describe, test } from 'bun:test'
import { type Duet, startDuet } from '../support/duet.ts'
import { send } from '../support/http.ts'
import {
  ask,
  type CallerFields,
  expectError,
  newCaller,
  PATHS,
  PROTOCOLS,
  type ProtocolName,
  UPSTREAMS,
  type WantedError,
} from '../support/wire.ts'

let duet: Duet
beforeAll(async () => {
  duet = await startDuet()
})
afterAll(() => duet.stop())

const [{ model: MODEL }, { model: OTHER_MODEL }] = UPSTREAMS
/** The recommended model: it rejects images. */
const BLIND = 'anthropic/claude-sonnet-4.6'
const TOO_LONG = ' '.repeat(64 * 1024 * 1024)
const PICTURE: Record<ProtocolName, object> = {
  chat: { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
  messages: { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
}

/** Both checks are violated; the answer is that of the first. */
interface Row {
  readonly both: string
  readonly path?: string
  /** Null for no credential, otherwise the limits of the key that is used. */
  readonly caller?: CallerFields | null
  /** A text is sent as it is; fields change a request that is in order. */
  readonly body: string | ((protocol: ProtocolName) => object)
  readonly wanted: WantedError
  readonly only?: ProtocolName
}

const INVALID_TOKEN: WantedError = { status: 401, code: '', message: 'Invalid token', param: null }
const NOT_JSON: WantedError = {
  status: 400,
  code: '',
  message: 'Invalid request: Invalid request: invalid JSON request body',
}
const missing = (field: string): WantedError => ({
  status: 500,
  code: 'invalid_request',
  message: `field ${field} is required`,
  param: field,
})
const wrong = (param: string): WantedError => ({ status: 400, code: 'invalid_request', param })
const UNKNOWN_MODEL: WantedError = { status: 503, code: 'model_not_found' }
const NOT_ALLOWED: WantedError = { status: 403, code: 'model_not_allowed' }
const BROKE: WantedError = { status: 403, code: 'insufficient_user_quota' }
const CAPPED: WantedError = { status: 403, code: 'pre_consume_token_quota_failed' }

const ROLELESS = { messages: [{ content: 'Hi' }] }

const ROWS: readonly Row[] = [
  {
    both: '1 before 2: an unknown route without a credential',
    path: '/v1/nothing',
    caller: null,
    body: '{}',
    wanted: { status: 404, code: '', message: 'Invalid URL (POST /v1/nothing)' },
  },
  {
    both: '1 before 2: count_tokens without a credential',
    path: '/v1/messages/count_tokens',
    caller: null,
    body: '{}',
    wanted: { status: 404, code: '', message: 'Invalid URL (POST /v1/messages/count_tokens)' },
  },
  {
    both: '1 before 4: an unknown route with a body that is too long',
    path: '/v1/nothing',
    body: TOO_LONG,
    wanted: { status: 404, code: '' },
  },
  {
    both: '2 before 3: an unsupported path without a credential',
    path: '/v1/embeddings',
    caller: null,
    body: '{}',
    wanted: INVALID_TOKEN,
  },
  { both: '2 before 4: no credential and a body that is not JSON', caller: null, body: '{', wanted: INVALID_TOKEN },
  {
    both: '2 before 4: no credential and a body that is too long',
    caller: null,
    body: TOO_LONG,
    wanted: INVALID_TOKEN,
  },
  {
    both: '3 before 4: an unsupported path with a body that is not JSON',
    path: '/v1/completions',
    body: '{',
    wanted: { status: 400, code: 'invalid_request_error' },
  },
  {
    both: '3 before 4: an unsupported path with a body that is too long',
    path: '/v1/images/generations',
    body: TOO_LONG,
    wanted: { status: 400, code: 'invalid_request_error' },
  },
  { both: '4: a body that is too long and not JSON', body: TOO_LONG, wanted: { status: 413 } },
  { both: '4 before 5: a body that is no object has no model either', body: '[]', wanted: NOT_JSON },
  { both: '4 before 11: a body that is not JSON and no credit', caller: { balance: '0' }, body: '{', wanted: NOT_JSON },
  {
    both: '5 before 6: an empty model is not in the catalog either',
    body: () => ({ model: '' }),
    wanted: missing('model'),
  },
  {
    both: '5 before 6: a model that is not a string is not in the catalog either',
    body: () => ({ model: 42 }),
    wanted: { status: 400, param: 'model' },
  },
  {
    both: '5 before 8: neither model nor messages',
    body: () => ({ model: undefined, messages: undefined }),
    wanted: missing('model'),
  },
  {
    both: '6 before 7: an unknown model that is not allowed either',
    caller: { models: [MODEL] },
    body: () => ({ model: 'acme/no-such' }),
    wanted: UNKNOWN_MODEL,
  },
  {
    both: '6 before 7: a model without a channel for the group that is not allowed either',
    caller: { models: [MODEL], group: 'night-shift' },
    body: () => ({ model: OTHER_MODEL }),
    wanted: UNKNOWN_MODEL,
  },
  {
    both: '6 before 8: an unknown model and no messages',
    body: () => ({ model: 'acme/no-such', messages: undefined }),
    wanted: UNKNOWN_MODEL,
  },
  {
    both: '7 before 8: a model that is not allowed and no messages',
    caller: { models: [OTHER_MODEL] },
    body: () => ({ messages: [] }),
    wanted: NOT_ALLOWED,
  },
  {
    both: '7 before 11: a model that is not allowed and no credit',
    caller: { models: [OTHER_MODEL], balance: '0', cap: '0' },
    body: () => ({}),
    wanted: NOT_ALLOWED,
  },
  {
    both: '8: neither messages nor max_tokens',
    only: 'messages',
    body: () => ({ messages: undefined, max_tokens: undefined }),
    wanted: missing('messages'),
  },
  {
    both: '8 before 9: no messages and a max_tokens out of range',
    body: () => ({ messages: [], max_tokens: 0 }),
    wanted: missing('messages'),
  },
  {
    both: '8 before 9: no max_tokens and a message without a role',
    only: 'messages',
    body: () => ({ ...ROLELESS, max_tokens: undefined }),
    wanted: missing('max_tokens'),
  },
  {
    both: '9 before 10: an image on a model that rejects it and a max_tokens out of range',
    body: protocol => ({ ...ask(protocol, BLIND, [PICTURE[protocol]]), max_tokens: 0 }),
    wanted: wrong('max_tokens'),
  },
  {
    both: '9 before 10: an image on a model that rejects it and, later, a message without a role',
    body: protocol => ({
      model: BLIND,
      messages: [{ role: 'user', content: [PICTURE[protocol]] }, { content: 'Hi' }],
    }),
    wanted: wrong('messages[1].role'),
  },
  {
    both: '9 before 11: a message without a role and no credit',
    caller: { balance: '0', cap: '0' },
    body: () => ROLELESS,
    wanted: wrong('messages[0].role'),
  },
  {
    both: '10 before 11: an image on a model that rejects it and no credit',
    caller: { balance: '0', cap: '0' },
    body: protocol => ask(protocol, BLIND, [PICTURE[protocol]]),
    wanted: { status: 400, param: 'messages[0].content[0]' },
  },
  {
    both: '11: no credit and a cap that is reached',
    caller: { balance: '0', cap: '0' },
    body: () => ({}),
    wanted: BROKE,
  },
  {
    both: '11: too little credit and a cap that is reached',
    caller: { balance: '0.000001', cap: '0.000001' },
    body: () => ({}),
    wanted: BROKE,
  },
  {
    both: '11 before 12: no credit and an upstream that would fail',
    caller: { balance: '0' },
    body: protocol => ask(protocol, MODEL, '[[error 500]]'),
    wanted: BROKE,
  },
  {
    both: '11 before 12: a cap that is reached and an upstream that would fail',
    caller: { balance: '10', cap: '0' },
    body: protocol => ask(protocol, MODEL, '[[error 500]]'),
    wanted: CAPPED,
  },
  {
    both: '11 before 12: no credit and an upstream that would refuse the stream',
    caller: { balance: '0' },
    body: protocol => ask(protocol, MODEL, '[[error 400]]', { stream: true }),
    wanted: BROKE,
  },
]

describe('Order of checks', () => {
  for (const { both, path, caller = {}, body, wanted, only } of ROWS) {
    // A path of its own stands for no protocol.
    const protocols = path ? (['chat'] as const) : only ? [only] : PROTOCOLS
    for (const protocol of protocols) {
      test(`Order ${both}${path ? '' : ` (${protocol})`}`, async () => {
        const key = caller && (await newCaller(duet, caller)).key
        const text = typeof body === 'string' ? body : JSON.stringify(ask(protocol, MODEL, 'Hi', body(protocol)))
        const answer = await send(duet, path ?? PATHS[protocol], { method: 'POST', body: text, key })
        expectError(answer, path ? wanted : { ...wanted, protocol })
      })
    }
  }
})
