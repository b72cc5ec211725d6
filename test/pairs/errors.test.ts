import { describe, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import type { JsonBody } from '../support/duet.ts'
import { post } from '../support/http.ts'
import {
  bodyFor,
  CHAT_CLIENTS,
  chatClient,
  eachPair,
  eachWay,
  failureOf,
  MESSAGES_CLIENTS,
  messagesClient,
  PATHS,
  type Pair,
  type Question,
  useSandbox,
} from './pairs.ts'
import { tapWire } from './socket.ts'

const stage = useSandbox()

const HELLO: Question = { messages: [{ user: 'Hello' }] }
const CLASSES = { chat: OpenAI, messages: Anthropic }

interface Row {
  readonly cause: string
  readonly name: 'AuthenticationError' | 'PermissionDeniedError' | 'InternalServerError' | 'BadRequestError'
  readonly status: number
  readonly code: string
  readonly message: RegExp
  readonly question?: Partial<Question>
  readonly key?: () => Promise<string>
}

const ROWS: readonly Row[] = [
  {
    cause: 'an unknown key',
    name: 'AuthenticationError',
    status: 401,
    code: '',
    message: /^Invalid token \(/,
    key: async () => `sk-duet-${'x'.repeat(43)}`,
  },
  {
    cause: 'a revoked key',
    name: 'AuthenticationError',
    status: 401,
    code: '',
    message: /^Invalid token \(/,
    key: async () => {
      const { id, key } = await newKey(await newAccount('10'), {})
      await stage.duet.admin('DELETE', `/api/keys/${id}`)
      return key
    },
  },
  {
    cause: 'an account without a balance',
    name: 'PermissionDeniedError',
    status: 403,
    code: 'insufficient_user_quota',
    message: /^用户额度不足, 剩余额度: ＄0\.000000 \(/,
    key: async () => (await newKey(await newAccount('0'), {})).key,
  },
  {
    cause: 'a key at its cap',
    name: 'PermissionDeniedError',
    status: 403,
    code: 'pre_consume_token_quota_failed',
    message: /^token quota is not enough, token remain quota: ＄0\.000001, need quota: ＄\d+\.\d{6} \(/,
    key: async () => (await newKey(await newAccount('10'), { cap: '0.000001' })).key,
  },
  {
    cause: 'a key that is not for this model',
    name: 'PermissionDeniedError',
    status: 403,
    code: 'model_not_allowed',
    message: /./,
    key: async () => (await newKey(await newAccount('10'), { models: [stage.models.at(-1).id] })).key,
  },
  {
    cause: 'an unknown model',
    name: 'InternalServerError',
    status: 503,
    code: 'model_not_found',
    message: /^No available channel for model acme\/nowhere under group default \(distributor\) \(/,
    question: { model: 'acme/nowhere' },
  },
  {
    cause: 'no messages',
    name: 'InternalServerError',
    status: 500,
    code: 'invalid_request',
    message: /^field messages is required \(/,
    question: { messages: [] },
  },
  {
    cause: 'a field of the wrong type',
    name: 'BadRequestError',
    status: 400,
    code: 'invalid_request',
    message: /max_tokens/,
    question: { more: { max_tokens: 'many' } },
  },
  {
    cause: 'a request that the upstream refuses',
    name: 'BadRequestError',
    status: 400,
    code: 'upstream_invalid_request',
    message: /The sandbox was asked for an error 400/,
    question: { messages: [{ user: '[[error 400]]' }] },
  },
]

describe('an error before the answer', () => {
  for (const row of ROWS) {
    eachWay(`${row.cause} is one ${row.name}, and no second attempt`, async (pair, stream) => {
      const key = (await row.key?.()) ?? stage.duet.key
      const question = { ...HELLO, ...row.question, stream }
      const { failure, attempts } = await attempt(pair, question, key)
      expect(failure).toBeInstanceOf(CLASSES[pair.client][row.name])
      expect(attempts).toBe(1)
      expect(failure.status).toBe(row.status)
      const error = errorOf(pair, failure)
      expect(error.code).toBe(row.code)
      expect(error.message).toMatch(row.message)
      expect(error.message).toEndWith(`(request id: ${failure.requestID})`)
      expect(failure.requestID).toMatch(/^[a-z]{20,}$/)
    })
  }

  eachPair(
    'the body on messages is marked as an error',
    async pair => {
      const body = bodyFor(stage, pair, { ...HELLO, model: 'acme/nowhere' })
      expect((await post(stage.duet, PATHS.messages, body)).body.type).toBe('error')
    },
    MESSAGES_CLIENTS,
  )

  eachPair('a limit of the upstream is one that a client may retry', async pair => {
    const { failure, attempts } = await attempt(pair, { messages: [{ user: '[[error 429]]' }] }, stage.duet.key, 0)
    expect(failure).toBeInstanceOf(CLASSES[pair.client].RateLimitError)
    expect(attempts).toBe(1)
    expect(errorOf(pair, failure).code).toBe('upstream_rate_limited')
    expect(Number(failure.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(failure.headers.get('x-should-retry')).not.toBe('false')
  })

  for (const status of [401, 403, 500, 503]) {
    eachPair(`a ${status} of the upstream is never the fault of the caller`, async pair => {
      const question = { messages: [{ user: `[[error ${status}]]` }] }
      const { failure } = await attempt(pair, question, stage.duet.key, 0)
      expect(failure.status).toBe(502)
      expect(errorOf(pair, failure).code).toBe(status < 500 ? 'upstream_auth_failed' : 'upstream_error')
    })
  }
})

describe('an error in the middle of a stream', () => {
  for (const directive of ['[[cut 5]]', '[[garbage]]']) {
    const question = { messages: [{ user: `${directive} Tell me about lighthouses.` }], stream: true }

    eachPair(`${directive} raises in the stream helper, after the text that came`, async pair => {
      const body = bodyFor(stage, pair, question)
      let text = ''
      const stream =
        pair.client === 'chat'
          ? chatClient(stage)
              .chat.completions.stream(body)
              .on('content', delta => {
                text += delta
              })
          : messagesClient(stage)
              .messages.stream(body)
              .on('text', delta => {
                text += delta
              })
      const failure = await failureOf(stream.done())
      expect(failure).toBeInstanceOf(CLASSES[pair.client].APIError)
      expect(errorOf(pair, failure).message).toMatch(/\(request id: [a-z]{20,}\)$/)
      expect(errorOf(pair, failure).code).toBe('upstream_error')
      if (directive === '[[cut 5]]') expect(text.length).toBeGreaterThan(0)
    })

    eachPair(`${directive} raises in plain iteration`, async pair => {
      const body = bodyFor(stage, pair, question)
      const read = async () => {
        const events: JsonBody = await (pair.client === 'chat'
          ? chatClient(stage).chat.completions.create(body)
          : messagesClient(stage).messages.create(body))
        for await (const _ of events);
      }
      expect(await failureOf(read())).toBeInstanceOf(CLASSES[pair.client].APIError)
    })
  }

  eachPair(
    'a chat stream ends with the error and [DONE], without a finish',
    async pair => {
      const body = bodyFor(stage, pair, { messages: [{ user: '[[cut 5]] Go on.' }], stream: true })
      const { text, status } = await post(stage.duet, PATHS.chat, body)
      expect(status).toBe(200)
      expect(text).toMatch(/\n\ndata: \{"error":.*\}\n\ndata: \[DONE\]\n\n$/)
      expect(text).not.toMatch(/"finish_reason":"/)
    },
    CHAT_CLIENTS,
  )

  eachPair(
    'a messages stream ends with the error',
    async pair => {
      const body = bodyFor(stage, pair, { messages: [{ user: '[[cut 5]] Go on.' }], stream: true })
      const { text, status } = await post(stage.duet, PATHS.messages, body)
      expect(status).toBe(200)
      expect(text).toMatch(/\n\nevent: error\ndata: \{"type":"error","error":.*\}\n\n$/)
      expect(text).not.toContain('message_stop')
    },
    MESSAGES_CLIENTS,
  )

  eachPair('a whole answer that was cut is an error with a status', async pair => {
    const { failure } = await attempt(pair, { messages: [{ user: '[[cut 5]] Go on.' }] }, stage.duet.key, 0)
    expect(failure.status).toBe(502)
    expect(errorOf(pair, failure).code).toBe('upstream_error')
  })
})

test('the wire counts retries, so one attempt means one', async () => {
  const { failure, attempts } = await attempt(
    { client: 'chat', upstream: 'chat' },
    { messages: [{ user: '[[error 500]]' }] },
    stage.duet.key,
    1,
  )
  expect(failure).toBeInstanceOf(OpenAI.InternalServerError)
  expect(attempts).toBe(2)
})

/** The clients' own number of retries, which is two, unless the test says otherwise. */
async function attempt(
  pair: Pair,
  question: Question,
  key: string,
  maxRetries = 2,
): Promise<{ failure: JsonBody; attempts: number }> {
  const wire = await tapWire(stage.duet.url)
  const options = { key, base: wire.base, maxRetries }
  const body = bodyFor(stage, pair, question)
  const answer = pair.client === 'chat' ? chatAnswer(options, body) : messagesAnswer(options, body)
  const failure = await failureOf(answer)
  wire.close()
  return { failure, attempts: wire.attempts() }
}

interface ClientOptions {
  readonly key: string
  readonly base: string
  readonly maxRetries: number
}

function chatAnswer(options: ClientOptions, body: JsonBody): PromiseLike<unknown> {
  const { completions } = chatClient(stage, options).chat
  return body.stream ? completions.stream(body).finalChatCompletion() : completions.create(body)
}

function messagesAnswer(options: ClientOptions, body: JsonBody): PromiseLike<unknown> {
  const { messages } = messagesClient(stage, options)
  return body.stream ? messages.stream(body).finalMessage() : messages.create(body)
}

/** The chat client unwraps `error`, the messages client hands over the whole body. */
function errorOf({ client }: Pair, failure: JsonBody): JsonBody {
  return client === 'chat' ? failure.error : failure.error.error
}

let accounts = 0

async function newAccount(balance: string): Promise<string> {
  accounts++
  const { body, status } = await stage.duet.admin('POST', '/api/accounts', { name: `account-${accounts}`, balance })
  expect(status).toBe(201)
  return body.id
}

async function newKey(account: string, limits: object): Promise<{ id: string; key: string }> {
  const { body, status } = await stage.duet.admin('POST', '/api/keys', { account, name: 'test', ...limits })
  expect(status).toBe(201)
  return body
}
