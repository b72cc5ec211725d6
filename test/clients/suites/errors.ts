import assert from 'node:assert/strict'
import { test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { modelOf } from '../stage/duet.ts'
import { useSandbox } from '../stage/stage.ts'
import { HELLO } from '../stage/talk.ts'

const stage = useSandbox()

interface Attempt {
  readonly key: string
  readonly model: string
  readonly content: string
  readonly maxTokens: number
  readonly fetch: typeof fetch
}

interface Client {
  readonly name: string
  readonly classes: typeof OpenAI | typeof Anthropic
  /** Answered from an upstream of the other protocol. */
  readonly model: string
  ask(attempt: Attempt): PromiseLike<unknown>
}

// Retries stay as the clients have them: that a permanent error is not tried again is part of the test.
const CLIENTS: readonly Client[] = [
  {
    name: 'openai',
    classes: OpenAI,
    model: modelOf('messages'),
    ask: ({ key, model, content, maxTokens, fetch }) =>
      new OpenAI({ baseURL: stage.duet.base, apiKey: key, fetch }).chat.completions.create({
        model,
        max_tokens: maxTokens,
        messages: [{ role: 'user', content }],
      }),
  },
  {
    name: 'anthropic',
    classes: Anthropic,
    model: modelOf('chat'),
    ask: ({ key, model, content, maxTokens, fetch }) =>
      new Anthropic({ baseURL: stage.duet.base, apiKey: key, fetch }).messages.create({
        model,
        max_tokens: maxTokens,
        messages: [{ role: 'user', content }],
      }),
  },
]

interface Row {
  readonly cause: string
  readonly name: 'AuthenticationError' | 'PermissionDeniedError' | 'InternalServerError' | 'BadRequestError'
  readonly status: number
  readonly message: RegExp
  readonly change: () => Promise<Partial<Attempt>>
}

const ROWS: readonly Row[] = [
  {
    cause: 'an unknown key',
    name: 'AuthenticationError',
    status: 401,
    message: /Invalid token/,
    change: async () => ({ key: `sk-duet-${'x'.repeat(43)}` }),
  },
  {
    cause: 'a key at its cap',
    name: 'PermissionDeniedError',
    status: 403,
    message: /token quota is not enough/,
    change: async () => {
      const body = { account: 'default', name: 'capped', cap: '0' }
      return { key: (await stage.duet.admin<{ key: string }>('POST', '/api/keys', body)).key }
    },
  },
  {
    cause: 'an unknown model',
    name: 'InternalServerError',
    status: 503,
    message: /No available channel for model acme\/nowhere/,
    change: async () => ({ model: 'acme/nowhere' }),
  },
  {
    cause: 'a field out of range',
    name: 'BadRequestError',
    status: 400,
    message: /max_tokens/,
    change: async () => ({ maxTokens: 0 }),
  },
  {
    cause: 'a request that the upstream refuses',
    name: 'BadRequestError',
    status: 400,
    message: /The sandbox was asked for an error 400/,
    change: async () => ({ content: '[[error 400]]' }),
  },
]

for (const { name, classes, model, ask } of CLIENTS) {
  for (const row of ROWS) {
    test(`${name}: ${row.cause} is one ${row.name}, and no second attempt`, async () => {
      let attempts = 0
      const counting: typeof fetch = (input, init) => {
        attempts += 1
        return fetch(input, init)
      }
      const attempt = { key: stage.duet.key, model, content: HELLO, maxTokens: 100, fetch: counting }
      const error = await failureOf(ask({ ...attempt, ...(await row.change()) }))
      assert.ok(error instanceof classes[row.name], String(error))
      assert.equal(error.status, row.status)
      assert.match(error.message, row.message)
      assert.equal(attempts, 1)
    })
  }
}

/** The clients' promises are lazy: only a `then` starts them. */
async function failureOf(answer: PromiseLike<unknown>): Promise<unknown> {
  return answer.then(
    () => undefined,
    error => error,
  )
}
