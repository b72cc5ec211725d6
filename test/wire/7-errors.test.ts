import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { type Duet, startDuet } from '../support/duet.ts'
import { type Answer, CHAT, MESSAGES, post, send } from '../support/http.ts'
import {
  ask,
  balanceOf,
  type Caller,
  type CallerFields,
  eventually,
  expectError,
  idOf,
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

const MODEL = UPSTREAMS[0].model

const AMOUNT = String.raw`＄\d+\.\d{6}`
const EMPTY = '用户额度不足, 剩余额度: ＄0.000000'
const TOO_LOW = new RegExp(`^预扣费额度失败, 用户剩余额度: ＄0\\.000001, 需要预扣费额度: ${AMOUNT}$`)
const CAPPED = new RegExp(`^token quota is not enough, token remain quota: ＄0\\.000001, need quota: ${AMOUNT}$`)
const NON_EMPTY_ARRAY = /\bmessages\b.*\brequired\b.*\bnon-empty array\b/

interface Row {
  readonly cause: string
  readonly send: (protocol: ProtocolName) => Promise<Answer>
  readonly wanted: WantedError
}

const postTo = (protocol: ProtocolName, body: unknown, key?: string | null) =>
  post(duet, PATHS[protocol], body, key === undefined ? {} : { key })

async function postAs(fields: CallerFields, protocol: ProtocolName, more: object = {}): Promise<Answer> {
  const { key } = await newCaller(duet, fields)
  return postTo(protocol, ask(protocol, MODEL, 'Hi', more), key)
}

/** The table of section 7, with what decisions say about types and params. */
const SECTION_7: readonly Row[] = [
  {
    cause: 'an absent key is 401',
    send: protocol => postTo(protocol, ask(protocol, MODEL, 'Hi'), null),
    wanted: { status: 401, code: '', type: 'duet_api_error', message: 'Invalid token', param: null },
  },
  {
    cause: 'an unknown key is 401',
    send: protocol => postTo(protocol, ask(protocol, MODEL, 'Hi'), 'sk-duet-unknown'),
    wanted: { status: 401, code: '', type: 'duet_api_error', message: 'Invalid token', param: null },
  },
  {
    cause: 'an unknown model is 503 model_not_found',
    send: protocol => postTo(protocol, ask(protocol, 'acme/no-such', 'Hi')),
    wanted: {
      status: 503,
      code: 'model_not_found',
      type: 'duet_api_error',
      message: 'No available channel for model acme/no-such under group default (distributor)',
      param: 'model',
    },
  },
  {
    cause: 'a balance of zero is 403 insufficient_user_quota',
    send: protocol => postAs({ balance: '0' }, protocol),
    wanted: { status: 403, code: 'insufficient_user_quota', type: 'duet_api_error', message: EMPTY },
  },
  {
    cause: 'a balance below the hold is 403 insufficient_user_quota',
    send: protocol => postAs({ balance: '0.000001' }, protocol),
    wanted: { status: 403, code: 'insufficient_user_quota', type: 'duet_api_error', message: TOO_LOW },
  },
  {
    cause: 'a cap that is reached is 403 pre_consume_token_quota_failed',
    send: protocol => postAs({ balance: '10', cap: '0.000001' }, protocol),
    wanted: { status: 403, code: 'pre_consume_token_quota_failed', type: 'duet_api_error', message: CAPPED },
  },
  {
    cause: 'absent messages are 500 invalid_request',
    send: protocol => postTo(protocol, { model: MODEL, max_tokens: 10 }),
    wanted: {
      status: 500,
      code: 'invalid_request',
      type: 'duet_api_error',
      message: 'field messages is required',
      param: 'messages',
    },
  },
  {
    cause: 'a body that is not JSON is 400 with an empty code and a doubled prefix',
    send: protocol => postTo(protocol, '{"model":'),
    wanted: {
      status: 400,
      code: '',
      type: 'duet_api_error',
      message: 'Invalid request: Invalid request: invalid JSON request body',
    },
  },
]

describe('7: the table of errors', () => {
  for (const { cause, send, wanted } of SECTION_7) {
    for (const protocol of PROTOCOLS) {
      test(`7: ${cause}, in these words (${protocol})`, async () => {
        expectError(await send(protocol), { ...wanted, protocol })
      })

      test(`7: ${cause}: another call has another id (${protocol})`, async () => {
        expect(idOf(await send(protocol))).not.toBe(idOf(await send(protocol)))
      })
    }
  }

  test('7: a streamed request that fails before its first byte gets the same JSON', async () => {
    for (const protocol of PROTOCOLS) {
      const unknown = await postTo(protocol, ask(protocol, 'acme/no-such', 'Hi', { stream: true }))
      expectError(unknown, { status: 503, code: 'model_not_found', protocol })
      const broke = await postAs({ balance: '0' }, protocol, { stream: true })
      expectError(broke, { status: 403, code: 'insufficient_user_quota', message: EMPTY, protocol })
    }
  })

  for (const path of ['/v1/embeddings', '/v1/completions', '/v1/images/generations']) {
    test(`7: the unsupported path ${path} is 400 invalid_request_error`, async () => {
      const wanted = { code: 'invalid_request_error', type: 'invalid_request_error' as const, message: NON_EMPTY_ARRAY }
      expectError(await post(duet, path, { model: MODEL, input: 'Hi' }), { status: 400, ...wanted })
    })
  }

  test('7: POST /messages/count_tokens is 404, in these words', async () => {
    expectError(await post(duet, '/v1/messages/count_tokens', {}), {
      status: 404,
      code: '',
      type: 'invalid_request_error',
      message: 'Invalid URL (POST /v1/messages/count_tokens)',
      param: '',
    })
  })

  test('7 rule 7: the two 400s are told apart by their code', async () => {
    const malformed = await post(duet, CHAT, '{')
    const unsupported = await post(duet, '/v1/embeddings', '{')
    expect([malformed.status, unsupported.status]).toEqual([400, 400])
    expect([malformed.body.error.code, unsupported.body.error.code]).toEqual(['', 'invalid_request_error'])
  })

  for (const text of ['', ' ', '{', '{"model":"a/b"}}', '{model: 1}', 'null', '[]', '[{}]', '"text"', '42', 'true']) {
    test(`7: the body ${JSON.stringify(text)} is not a JSON object`, async () => {
      for (const protocol of PROTOCOLS) {
        expectError(await postTo(protocol, text), {
          status: 400,
          code: '',
          message: 'Invalid request: Invalid request: invalid JSON request body',
          protocol,
        })
      }
    })
  }

  test('7: model_not_found names the group of the account', async () => {
    const { key } = await newCaller(duet, { group: 'night-shift' })
    const message = 'No available channel for model acme/no-such under group night-shift (distributor)'
    const answer = await postTo('chat', ask('chat', 'acme/no-such', 'Hi'), key)
    expectError(answer, { status: 503, code: 'model_not_found', message })
  })

  test('7: a model without a channel for the group of the account is model_not_found too', async () => {
    const { key } = await newCaller(duet, { group: 'night-shift' })
    const message = `No available channel for model ${MODEL} under group night-shift (distributor)`
    const answer = await postTo('chat', ask('chat', MODEL, 'Hi'), key)
    expectError(answer, { status: 503, code: 'model_not_found', message })
  })
})

describe('7: hints', () => {
  test('7: the hint of an unknown model names the nearest catalog ids', async () => {
    const { error } = (await post(duet, CHAT, ask('chat', 'openai/gpt-4.2', 'Hi'))).body
    expect(error.hint).toContain('openai/gpt-4.1')
  })

  test('7: a bare name is unknown like any other, and the hint knows whose it is', async () => {
    const answer = await post(duet, CHAT, ask('chat', 'gpt-4.1', 'Hi'))
    const error = expectError(answer, { status: 503, code: 'model_not_found' })
    expect(error.hint).toContain('openai/gpt-4.1')
  })

  const REMEDIES: Readonly<Record<string, string>> = {
    insufficient_user_quota: '/console/billing',
    pre_consume_token_quota_failed: '/console/keys',
  }
  for (const { cause, wanted, send } of SECTION_7.filter(({ wanted }) => wanted.status === 403)) {
    test(`7: ${cause}: the hint has the address in the console of the step that helps`, async () => {
      expect((await send('chat')).body.error.hint).toContain(`(${duet.url}${REMEDIES[wanted.code ?? '']})`)
    })
  }

  const PUBLIC_URL = 'https://duet.example'
  const REACHED: readonly [how: string, env: Record<string, string>, url: string | undefined][] = [
    ['by any address of its machine', { DUET_HOST: '0.0.0.0' }, undefined],
    ['by an address that it was told', { DUET_HOST: '0.0.0.0', DUET_PUBLIC_URL: PUBLIC_URL }, PUBLIC_URL],
    ['by its own machine under another name', { DUET_PUBLIC_URL: PUBLIC_URL }, PUBLIC_URL],
  ]
  for (const [how, env, url] of REACHED) {
    test(`7: a Duet that is reached ${how} names ${url ?? 'no'} address in its hints`, async () => {
      const another = await startDuet({ env })
      const { key } = await newCaller(another, { balance: '0' })
      const { hint } = (await post(another, CHAT, ask('chat', MODEL, 'Hi'), { key })).body.error
      expect(hint).toStartWith('The account has no credit left: top it up')
      if (url === undefined) expect(hint).not.toMatch(/:\/\/|console|[()]|\{/)
      else expect(hint).toContain(`(${url}/console/billing)`)
      await another.stop()
    })
  }

  for (const { cause, send } of SECTION_7.filter(({ wanted }) => wanted.status !== 400 && wanted.status !== 500)) {
    test(`7: ${cause}: what to do about it is in error.hint, one sentence`, async () => {
      const { hint } = (await send('chat')).body.error
      expect(hint).toMatch(/^[A-Z].*[.?]$/)
      expect(hint).not.toMatch(/[.?!]\s+[A-Z]/)
    })
  }
})

describe('7: running out of credit', () => {
  const hi = (protocol: ProtocolName, { key }: Caller) => postTo(protocol, ask(protocol, MODEL, 'Hi'), key)
  const topUp = (account: string, amount: string) => duet.admin('POST', `/api/accounts/${account}/topups`, { amount })

  for (const protocol of PROTOCOLS) {
    for (const balance of ['0', '0.000001']) {
      test(`7: topping up ＄${balance} restores credit at once, and the key keeps working (${protocol})`, async () => {
        const caller = await newCaller(duet, { balance })
        expectError(await hi(protocol, caller), { status: 403, code: 'insufficient_user_quota' })
        expect((await topUp(caller.account, '5')).status).toBe(201)
        expect((await hi(protocol, caller)).status).toBe(200)
      })
    }

    test(`7: topping up does not help a key whose cap is reached (${protocol})`, async () => {
      const caller = await newCaller(duet, { balance: '10', cap: '0.000001' })
      expectError(await hi(protocol, caller), { status: 403, code: 'pre_consume_token_quota_failed' })
      await topUp(caller.account, '100')
      expectError(await hi(protocol, caller), {
        status: 403,
        code: 'pre_consume_token_quota_failed',
        message: CAPPED,
      })
    })

    test(`7: a key that has spent its whole cap gets the 403 of the cap, never 401 (${protocol})`, async () => {
      const caller = await newCaller(duet, { balance: '10' })
      expect((await hi(protocol, caller)).status).toBe(200)
      const { body } = await duet.admin('GET', `/api/keys/${caller.keyId}`)
      await duet.admin('PATCH', `/api/keys/${caller.keyId}`, { cap: body.spent })
      expectError(await hi(protocol, caller), {
        status: 403,
        code: 'pre_consume_token_quota_failed',
        message: new RegExp(`^token quota is not enough, token remain quota: ＄0\\.000000, need quota: ${AMOUNT}$`),
        protocol,
      })
    })
  }

  test('7: what is needed is more than what is left, in both messages', async () => {
    const short = await postAs({ balance: '0.000001' }, 'chat')
    const capped = await postAs({ balance: '10', cap: '0.000001' }, 'chat')
    for (const { body } of [short, capped]) {
      const [left = 0, needed = 0] = [...body.error.message.matchAll(/＄([\d.]+)/g)].map(([, amount]) => Number(amount))
      expect(left).toBe(0.000001)
      expect(needed).toBeGreaterThan(left)
    }
  })

  test('7 rule 4: an account that spends itself to the end gets 403, never 429, and its balance quoted', async () => {
    const caller = await newCaller(duet, { balance: '0.01' })
    const answers: Answer[] = []
    while (answers.length < 100 && (answers.at(-1)?.status ?? 200) === 200) answers.push(await hi('chat', caller))
    expect(answers.length).toBeGreaterThan(1)
    const balance = Number(await balanceOf(duet, caller.account))
    const message =
      balance > 0
        ? new RegExp(`^预扣费额度失败, 用户剩余额度: ＄${sixDecimals(balance)}, 需要预扣费额度: ${AMOUNT}$`)
        : /^用户额度不足, 剩余额度: ＄-?\d+\.\d{6}$/
    expectError(answers.at(-1) as Answer, { status: 403, code: 'insufficient_user_quota', message })
  })

  const sixDecimals = (amount: number) => (Math.floor(amount * 1e6 + 1e-6) / 1e6).toFixed(6).replace('.', '\\.')
})

describe('7 rule 3: official clients do not retry what can never succeed', () => {
  const counting = () => {
    const seen = { requests: 0 }
    const counted = (input: string | URL | Request, init?: RequestInit) => {
      seen.requests++
      return fetch(input, init)
    }
    return { seen, fetch: counted }
  }
  const question = { messages: [{ role: 'user' as const, content: 'Hi' }] }
  const ROWS = [
    { cause: '503 model_not_found', status: 503, request: { model: 'acme/no-such', ...question } },
    { cause: '500 invalid_request', status: 500, request: { model: MODEL, messages: [] } },
  ]

  for (const { cause, status, request } of ROWS) {
    test(`7 rule 3: the chat library sends ${cause} once`, async () => {
      const { seen, fetch } = counting()
      const client = new OpenAI({ baseURL: duet.base, apiKey: duet.key, fetch })
      const error = await client.chat.completions.create(request).catch(error => error)
      expect({ status: error.status, requests: seen.requests }).toEqual({ status, requests: 1 })
    })

    test(`7 rule 3: the messages library sends ${cause} once, and its message can be read`, async () => {
      const { seen, fetch } = counting()
      const client = new Anthropic({ baseURL: duet.base, apiKey: duet.key, fetch })
      const error = await client.messages.create({ max_tokens: 10, ...request }).catch(error => error)
      expect({ status: error.status, requests: seen.requests }).toEqual({ status, requests: 1 })
      expect(error.message).toContain('(request id: ')
      expect(error.requestID).toMatch(/^[a-z]{20,}$/)
    })
  }
})

describe('7: the request id', () => {
  test('7: it names the log line of a failure and of a success', async () => {
    const failed = idOf(await post(duet, CHAT, '{'))
    const served = idOf(await post(duet, MESSAGES, ask('messages', MODEL, 'Hi')))
    for (const id of [failed, served]) {
      const output = await eventually(duet.output, text => text.includes(id))
      expect(output).toContain(id)
    }
  })

  test('7: it names the charge in the ledger, and the log line', async () => {
    const id = idOf(await post(duet, CHAT, ask('chat', MODEL, 'Hi')))
    const { body } = await duet.admin('GET', '/api/accounts/default/entries')
    expect(body.data[0]).toMatchObject({ kind: 'charge', source: id })
    while (!duet.output().includes(`"request_id":"${id}"`)) await Bun.sleep(2)
  })

  test('7: a request id that the caller sends does not replace it', async () => {
    const answer = await send(duet, '/v1/models', { headers: { 'x-request-id': 'mine-429', 'request-id': 'mine-503' } })
    idOf(answer)
  })
})
