import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Duet, type JsonBody, startDuet } from '../support/duet.ts'
import { type Answer, CHAT, framesOf, MESSAGES, post, send, user } from '../support/http.ts'
import { inviteMember, type Person } from '../support/people.ts'
import { storedBytes } from '../support/stored.ts'
import { eventStream, type ScriptedUpstream, scriptUpstream, type UpstreamVisit } from '../support/upstream.ts'
import { chatFrame, vendorBody } from '../support/vendor.ts'
import { type CallerFields, eventually, idOf, newCaller } from '../support/wire.ts'

/** The name by which the vendor knows the model, and its credential: neither is anybody else's business. */
const [SECRET_NAME, SECRET_KEY] = ['swift-internal-build-7', 'vendor-credential-of-ours']

const configOf = (base: string) => `
models:
  - { id: acme/swift, price: { input: 1, output: 4 }, max_output_tokens: 8000 }
  - { id: acme/blind, price: { input: 1, output: 4 }, images: reject }
  - { id: acme/unpriced }
channels:
  - name: acme-main
    protocol: chat
    base_url: ${base}
    api_key: ${SECRET_KEY}
    models: { acme/swift: ${SECRET_NAME}, acme/blind: blind, acme/unpriced: unpriced }
`

let duet: Duet
let upstream: ScriptedUpstream
let answer: (visit: UpstreamVisit) => Response | Promise<Response>

beforeAll(async () => {
  upstream = scriptUpstream(visit => answer(visit))
  duet = await startDuet({ config: configOf(upstream.base) })
})
afterAll(async () => {
  await duet.stop()
  await upstream.stop()
})

const well = () => Response.json(vendorBody('chat'))

/** The record of a request, once it is there. */
const recordOf = (requestId: string): Promise<JsonBody> =>
  eventually(
    async () => (await duet.admin('GET', `/api/usage/${requestId}`)).body,
    body => body.error?.code !== 'not_found',
  )

const rowsOf = async (account: string): Promise<JsonBody[]> =>
  (await duet.admin('GET', `/api/usage?account=${account}&limit=500`)).body.data

/** What the caller was told, but for the id that every message ends with. */
const messageIn = (text: string): string => text.replace(/ \(request id: \w+\)$/, '')

describe('a refused request is found by the id that its caller was given', () => {
  interface Refused {
    readonly why: string
    readonly path?: string
    readonly body?: unknown
    readonly init?: RequestInit
    readonly caller?: CallerFields
    readonly status: number
    readonly recorded: string
    readonly model?: string
    /** What the record says of a model that nobody knows. */
    readonly told?: string
  }

  const IMAGE = [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }]
  const LONG = `acme/${'x'.repeat(300)}`

  const REFUSED: readonly Refused[] = [
    { why: 'a body that is no JSON', body: '{"model":', status: 400, recorded: 'body-not-json', model: '' },
    { why: 'a body that is no object', body: [1], status: 400, recorded: 'body-not-json', model: '' },
    { why: 'no model', body: { messages: user('Hi') }, status: 500, recorded: 'invalid_request', model: '' },
    { why: 'a model that is no name', body: { model: 7 }, status: 400, recorded: 'invalid_request', model: '' },
    { why: 'no messages', body: { model: 'acme/swift' }, status: 500, recorded: 'invalid_request' },
    {
      ...{ why: 'an unknown model', body: { model: 'acme/nothing', messages: user('Hi') } },
      ...{ status: 503, recorded: 'model_not_found', model: '', told: 'acme/nothing' },
    },
    {
      ...{ why: 'a name that has no end', body: { model: LONG, messages: user('Hi') } },
      ...{ status: 503, recorded: 'model_not_found', model: '', told: LONG.slice(0, 100) },
    },
    {
      ...{ why: 'a name with half of a character', body: '{"model":"acme/\\ud83d","messages":[]}' },
      ...{ status: 503, recorded: 'model_not_found', model: '', told: 'acme/\ufffd' },
    },
    {
      ...{ why: 'a name that would paint a terminal', body: '{"model":"acme/\\u001b[31mred\\u0000","messages":[]}' },
      ...{ status: 503, recorded: 'model_not_found', model: '', told: 'acme/[31mred' },
    },
    {
      ...{ why: 'a model that the key may not use', caller: { models: ['acme/blind'] } },
      ...{ status: 403, recorded: 'model_not_allowed' },
    },
    {
      ...{ why: 'an image that nobody can see', body: { model: 'acme/blind', messages: user(IMAGE) } },
      ...{ status: 400, recorded: 'invalid_request', model: 'acme/blind' },
    },
    {
      ...{ why: 'a model without a price', body: { model: 'acme/unpriced', max_tokens: 5, messages: user('Hi') } },
      ...{ status: 503, recorded: 'model_price_unknown', model: 'acme/unpriced' },
    },
    { why: 'no money', caller: { balance: '0' }, status: 403, recorded: 'insufficient_user_quota' },
    { why: 'too little money', caller: { balance: '0.0000001' }, status: 403, recorded: 'insufficient_user_quota' },
    { why: 'a cap that is reached', caller: { cap: '0' }, status: 403, recorded: 'pre_consume_token_quota_failed' },
    {
      ...{ why: 'an encoding that nobody knows', init: { headers: { 'content-encoding': 'smoke' } } },
      ...{ status: 415, recorded: 'unsupported_content_encoding', model: '' },
    },
    {
      why: 'a path that is not served',
      path: '/v1/embeddings',
      status: 400,
      recorded: 'invalid_request_error',
      model: '',
    },
  ]

  for (const { why, path, init, caller: fields = {}, status, recorded, told = '', ...rest } of REFUSED) {
    for (const at of path ? [path] : [CHAT, MESSAGES]) {
      if (at === MESSAGES && why.includes('image')) continue
      test(`${why}: ${at}`, async () => {
        const { key, keyId, account } = await newCaller(duet, fields)
        const { model = 'acme/swift' } = rest
        const body = rest.body ?? { model: 'acme/swift', max_tokens: 50, messages: user('Hi') }
        const refused = await post(duet, at, body, { ...init, key })
        expect(refused.status).toBe(status)

        const { receipt, ...record } = await recordOf(idOf(refused))
        const [{ name }] = (await duet.admin('GET', `/api/keys?account=${account}`)).body.data
        expect(record).toMatchObject({
          ...{ request_id: idOf(refused), account, key: keyId, key_name: name, model, channel: '', status: recorded },
          ...{ cost: '0.00', ending: null, source: 'estimated', first_byte_ms: null, capture: null, stream: false },
          error: messageIn(refused.body.error.message)
            .toWellFormed()
            .replace(/\p{Cc}/gu, ''),
        })
        expect(record.error).toContain(told)
        expect(record.protocol).toBe(at === MESSAGES ? 'messages' : 'chat')
        expect(record.upstream_protocol).toBe(record.protocol)
        expect(Object.values(record.tokens)).toEqual([0, 0, 0, 0, 0])
        expect(receipt).toMatchObject({ hold: { amount: '0.00' }, price: null, entry: null, attempts: [] })
        expect((await rowsOf(account)).map(row => row.request_id)).toEqual([idOf(refused)])
      })
    }
  }

  test('one that would have been streamed says so', async () => {
    const { key } = await newCaller(duet, { balance: '0' })
    const body = { model: 'acme/swift', messages: user('Hi'), stream: true }
    expect(await recordOf(idOf(await post(duet, CHAT, body, { key })))).toMatchObject({ stream: true })
  })

  test('none of them reached the vendor, and the books are in order', async () => {
    expect(upstream.requests).toEqual([])
    const { body } = await duet.admin('GET', '/api/ledger/verify')
    expect(body).toMatchObject({ ok: true, problem: null, open_holds: 0, charges: 0 })
  })

  test('they are errors in the sums, and cost nothing', async () => {
    const { key, account } = await newCaller(duet, { balance: '0' })
    for (let i = 0; i < 3; i++) await post(duet, CHAT, { model: 'acme/swift', messages: user('Hi') }, { key })
    await eventually(
      () => rowsOf(account),
      rows => rows.length === 3,
    )
    const { body } = await duet.admin('GET', `/api/usage/summary?by=status&account=${account}`)
    expect(body.data).toMatchObject([{ status: 'insufficient_user_quota', requests: 3, errors: 3, cost: '0.00' }])
  })
})

test('sums by model do not grow with names that somebody makes up', async () => {
  const { key, account } = await newCaller(duet)
  for (const model of ['acme/made', 'acme/up', 'acme/by-somebody']) {
    expect((await post(duet, CHAT, { model, messages: user('Hi') }, { key })).status).toBe(503)
  }
  const { data } = await eventually(
    async () => (await duet.admin('GET', `/api/usage/summary?by=model&account=${account}`)).body,
    ({ total }) => total.requests === 3,
  )
  expect(data).toMatchObject([{ model: '', requests: 3, errors: 3 }])
})

describe('a credential that nobody knows leaves no trace', () => {
  const UNKNOWN: readonly [why: string, key: () => Promise<string>][] = [
    ['one that never was', async () => 'sk-duet-nobody'],
    [
      'one that was revoked',
      async () => {
        const { key, keyId } = await newCaller(duet)
        await duet.admin('DELETE', `/api/keys/${keyId}`)
        return key
      },
    ],
  ]
  for (const [why, keyOf] of UNKNOWN) {
    for (const path of [CHAT, MESSAGES, '/v1/embeddings']) {
      test(`${why}: ${path}`, async () => {
        const refused = await post(duet, path, { model: 'acme/swift', messages: user('Hi') }, { key: await keyOf() })
        expect(refused.status).toBe(401)
        // Whoever is refused after it leaves a record: what was written before is there by then.
        const { key } = await newCaller(duet, { balance: '0' })
        await recordOf(idOf(await post(duet, CHAT, { model: 'acme/swift', messages: user('Hi') }, { key })))
        expect((await duet.admin('GET', `/api/usage/${idOf(refused)}`)).status).toBe(404)
      })
    }
  }
})

test('an account that is refused all the time fills no disk, however many keys it has: only so many an hour are written down', async () => {
  const { key, account } = await newCaller(duet, { balance: '0' })
  const keys = [key]
  for (const name of ['second', 'third', 'fourth']) {
    keys.push((await duet.admin('POST', '/api/keys', { account, name })).body.key)
  }
  const LIMIT = 1_000
  // All keys together send more than two hours' worth, and each less than one's: wherever the hour turns, some are left out.
  const SENT = 600
  for (const key of keys) {
    await Promise.all(Array.from({ length: SENT }, () => post(duet, CHAT, { model: 'acme/swift' }, { key })))
  }
  // Nobody else is left out for it.
  const other = await newCaller(duet, { balance: '0' })
  const refused = await post(duet, CHAT, { model: 'acme/swift', messages: user('Hi') }, { key: other.key })
  expect(await recordOf(idOf(refused))).toMatchObject({ account: other.account })
  const { body } = await duet.admin('GET', `/api/usage/summary?account=${account}`)
  expect(body.total.requests).toBeGreaterThanOrEqual(LIMIT)
  expect(body.total.requests).toBeLessThanOrEqual(2 * LIMIT)
}, 30_000)

describe('what went wrong after the money was held is told in full', () => {
  const complaint = `the engine ${SECRET_NAME} refuses ${SECRET_KEY}: temperature is too hot`
  const ask = (key: string, more: object = {}): Promise<Answer> =>
    post(duet, CHAT, { model: 'acme/swift', messages: user('Hi'), ...more }, { key })

  test('as the caller was told, without what only the vendor may know', async () => {
    answer = () => Response.json({ error: { message: complaint } }, { status: 400 })
    const { key } = await newCaller(duet)
    const refused = await ask(key)
    expect(refused.status).toBe(400)
    const { error, status, receipt } = await recordOf(idOf(refused))
    expect(status).toBe('upstream_invalid_request')
    expect(error).toBe(messageIn(refused.body.error.message))
    expect(error).toContain('temperature is too hot')
    expect(error).not.toContain(SECRET_NAME)
    expect(error).not.toContain(SECRET_KEY)
    expect(receipt.attempts).toMatchObject([{ channel: 'acme-main', status: 'upstream_invalid_request' }])
  })

  test('in the middle of a stream as well', async () => {
    answer = () => eventStream([chatFrame({ content: 'Half of' }), `data: {"error":{"message":"${complaint}"}}\n\n`])
    const { key } = await newCaller(duet)
    const broken = await ask(key, { stream: true })
    const told = framesOf(broken.text).find(({ json }) => json?.error)?.json.error.message
    const { error, status } = await recordOf(idOf(broken))
    expect(status).toBe('upstream_error')
    expect(error).toBe(messageIn(told))
    expect(error).not.toContain(SECRET_NAME)
    expect(error).not.toContain(SECRET_KEY)
  })

  test('a failure of the vendor that says nothing has the words of the gateway', async () => {
    answer = () => new Response('', { status: 503 })
    const { key } = await newCaller(duet)
    const failed = await ask(key)
    const { error } = await recordOf(idOf(failed))
    expect(error).toBe(messageIn(failed.body.error.message))
    expect(error).not.toBe('')
  })

  test('where nothing went wrong, nothing is told', async () => {
    answer = well
    const { key } = await newCaller(duet)
    expect(await recordOf(idOf(await ask(key)))).toMatchObject({ status: 'ok', error: null })
  })
})

describe('what a vendor quotes of the prompt is stored nowhere', () => {
  const PROMPT = 'the launch code of the orchard is 4711-violet'
  const QUOTING = `temperature is too hot, near "${PROMPT}" of your request`
  const body = { model: 'acme/swift', max_tokens: 50, messages: user(`Hello. Remember: ${PROMPT}. Goodbye.`) }

  const ANSWERS: readonly [how: string, answer: () => Response, more: object][] = [
    ['refused', () => Response.json({ error: { message: QUOTING } }, { status: 400 }), {}],
    [
      'in the middle of a stream',
      () =>
        eventStream([
          chatFrame({ delta: { content: 'Half of' } }),
          `data: ${JSON.stringify({ error: { message: QUOTING } })}\n\n`,
        ]),
      { stream: true },
    ],
  ]

  for (const [how, answered, more] of ANSWERS) {
    for (const path of [CHAT, MESSAGES]) {
      test(`${how}: ${path}`, async () => {
        answer = answered
        const { key, account } = await newCaller(duet)
        const said = await post(duet, path, { ...body, ...more }, { key })
        expect(said.text).toContain(PROMPT)
        const record = await recordOf(idOf(said))
        expect(record).toMatchObject({ status: how === 'refused' ? 'upstream_invalid_request' : 'upstream_error' })
        expect(record.error).toContain('temperature is too hot')
        expect(JSON.stringify(record)).not.toContain(PROMPT)

        const { body: file } = await duet.admin('GET', `/api/usage.csv?account=${account}`)
        expect(file).toContain('temperature is too hot')
        expect(file).not.toContain(PROMPT)
        const stored = await storedBytes(duet.folder)
        expect(stored).toContain('temperature is too hot')
        expect(stored).not.toContain(PROMPT)
      })
    }
  }

  test('but where the key stores prompts and answers, sealed', async () => {
    answer = () => Response.json({ error: { message: QUOTING } }, { status: 400 })
    const { key, keyId } = await newCaller(duet)
    await duet.admin('PATCH', `/api/keys/${keyId}`, { keep_days: 1 })
    const said = await post(duet, CHAT, body, { key })
    expect(said.text).toContain(PROMPT)
    const { error, capture } = await eventually(
      () => recordOf(idOf(said)),
      ({ capture }) => Boolean(capture),
    )
    expect(capture).toMatchObject({ request: JSON.stringify(body), response: said.text })
    expect(error).not.toContain(PROMPT)
    expect(await storedBytes(duet.folder)).not.toContain(PROMPT)
  })
})

describe('the list', () => {
  test('names keys, those that were revoked too', async () => {
    answer = well
    const { account } = await newCaller(duet)
    const { body: key } = await duet.admin('POST', '/api/keys', { account, name: 'short-lived' })
    await post(duet, CHAT, { model: 'acme/swift', messages: user('Hi') }, { key: key.key })
    await duet.admin('DELETE', `/api/keys/${key.id}`)
    expect(await rowsOf(account)).toMatchObject([{ key: key.id, key_name: 'short-lived' }])
  })

  test('comes with what it can be filtered by, if that is asked for', async () => {
    const { account, keyId } = await newCaller(duet)
    const { body } = await duet.admin('GET', `/api/usage?with=choices&account=${account}&limit=1`)
    expect(body.choices.keys).toContainEqual({ id: keyId, name: expect.stringMatching(/^caller-/) })
    expect(body.choices.models.toSorted()).toEqual(['acme/blind', 'acme/swift', 'acme/unpriced'])
    expect(body.choices.channels).toEqual(['acme-main'])
    for (const query of ['', '?with=', '?with=nothing']) {
      expect((await duet.admin('GET', `/api/usage${query}`)).body).not.toHaveProperty('choices')
    }
  })

  describe('of a member', () => {
    let member: Person
    let requestId: string
    beforeAll(async () => {
      answer = well
      member = await inviteMember(duet, 'reader')
      await duet.admin('POST', `/api/accounts/${member.session.account.id}/topups`, { amount: '5' })
      const { body: key } = await member.call('POST', '/api/keys', { name: 'own' })
      requestId = idOf(await post(duet, CHAT, { model: 'acme/swift', messages: user('Hi') }, { key: key.key }))
    })

    test('does not say which channels there are', async () => {
      const { body: list } = await member.call('GET', '/api/usage')
      expect(list.data).toMatchObject([{ request_id: requestId, channel: '', status: 'ok', key_name: 'own' }])
      const { body: one } = await member.call('GET', `/api/usage/${requestId}`)
      expect(one).toMatchObject({ channel: '', receipt: { attempts: [{ channel: '', status: 'ok' }] } })
      expect(JSON.stringify([list, one])).not.toContain('acme-main')
      const { body: all } = await duet.admin('GET', `/api/usage/${requestId}`)
      expect(all).toMatchObject({ channel: 'acme-main', receipt: { attempts: [{ channel: 'acme-main' }] } })
    })

    for (const path of ['/api/usage?channel=acme-main', '/api/usage/summary?channel=x', '/api/usage.csv?channel=x']) {
      test(`has no filter for them: ${path}`, async () => {
        const { status, body } = await member.call('GET', path)
        expect([status, body.error.code, body.error.param]).toEqual([422, 'invalid_field', 'channel'])
      })
    }

    test('can be filtered by their own keys, and by no channel', async () => {
      const { body } = await member.call('GET', '/api/usage?with=choices')
      expect(body.choices.keys).toEqual([{ id: body.data[0].key, name: 'own' }])
      expect(body.choices).toMatchObject({ channels: [], models: expect.arrayContaining(['acme/swift']) })
    })

    test('has no sums of them', async () => {
      const { status, body } = await member.call('GET', '/api/usage/summary?by=channel')
      expect([status, body.error.param]).toEqual([422, 'by'])
      expect(body.error.message).not.toContain('protocol, channel')
    })
  })
})

test('GET /models/{unknown} asks for nothing that could be billed, and is no record', async () => {
  const { key, account } = await newCaller(duet)
  expect((await send(duet, '/v1/models/acme%2Fnothing', { key })).status).toBe(404)
  await recordOf(idOf(await post(duet, CHAT, { model: 'acme/nothing' }, { key })))
  expect(await rowsOf(account)).toHaveLength(1)
})
