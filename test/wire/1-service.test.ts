import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { type Duet, type JsonBody, startDuet } from '../support/duet.ts'
import { CHAT, MESSAGES, post, send } from '../support/http.ts'
import { ask, balanceOf, expectError, newCaller, PAIRS, PATHS, PROTOCOLS, read, UPSTREAMS } from '../support/wire.ts'

let duet: Duet
let catalog: readonly string[]

beforeAll(async () => {
  duet = await startDuet()
  const { body } = await send(duet, '/v1/models')
  catalog = body.data.map(({ id }: JsonBody) => id)
})
afterAll(() => duet.stop())

describe('1.1-1.5: one catalog, two protocols', () => {
  for (const { title, protocol, path, model } of PAIRS) {
    test(`1.1: a request is routed to the model named in its model field: ${title}`, async () => {
      const { status, body } = await post(duet, path, ask(protocol, model, 'What is a walrus?'))
      expect({ status, model: body.model }).toEqual({ status: 200, model })
      expect(read(protocol, body).text).toContain('walrus')
    })
  }

  test('1.2: the chat-completions protocol is POST /chat/completions and GET /models', async () => {
    expect((await post(duet, CHAT, ask('chat', UPSTREAMS[0].model, 'Hi'))).body).toHaveProperty('choices')
    expect((await send(duet, '/v1/models')).body).toHaveProperty('data')
  })

  test('1.2: the messages protocol is POST /messages', async () => {
    const { body } = await post(duet, MESSAGES, ask('messages', UPSTREAMS[0].model, 'Hi'))
    expect(body.type).toBe('message')
  })

  for (const protocol of PROTOCOLS) {
    test(`1.3: every model of the catalog can be called through ${protocol}, whoever its vendor is`, async () => {
      const calls = catalog.map(id => post(duet, PATHS[protocol], ask(protocol, id, 'What is a walrus?')))
      const answers = await Promise.all(calls)
      expect(answers.map(({ status, body }) => ({ status, model: body.model }))).toEqual(
        catalog.map(model => ({ status: 200, model })),
      )
      for (const { body } of answers) expect(read(protocol, body).text).toContain('walrus')
    })
  }

  test('1.4: the catalog holds 15 models', () => {
    expect(new Set(catalog).size).toBe(15)
  })

  test('1.5: model ids have the form <vendor>/<model>', () => {
    for (const id of catalog) expect(id).toMatch(/^[^/\s]+\/[^/\s]+$/)
  })

  test('1.3: the models that these tests pick lie behind both kinds of upstream', () => {
    const placesOf = (row: (typeof UPSTREAMS)[number]) => [row.model, row.thinker].map(id => catalog.indexOf(id))
    expect(UPSTREAMS.flatMap(placesOf).includes(-1)).toBe(false)
    expect(UPSTREAMS.map(row => placesOf(row).map(place => place % 2))).toEqual([
      [0, 0],
      [1, 1],
    ])
  })
})

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const TEXT = { type: 'text', text: 'What is a walrus?' }

const IMAGES = [
  {
    title: 'a data: URL',
    protocol: 'chat',
    part: { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } },
  },
  {
    title: 'an https URL',
    protocol: 'chat',
    part: { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
  },
  {
    title: 'an image block',
    protocol: 'messages',
    part: { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } },
  },
] as const

describe('1.6: text only', () => {
  for (const { title, protocol, part } of IMAGES) {
    for (const { upstream, model } of UPSTREAMS) {
      test(`1.6: ${title} is accepted and then ignored: ${protocol} over a ${upstream} upstream`, async () => {
        const bare = await post(duet, PATHS[protocol], ask(protocol, model, [TEXT]))
        const { status, body } = await post(duet, PATHS[protocol], ask(protocol, model, [TEXT, part]))
        expect(status).toBe(200)
        expect(read(protocol, body)).toEqual(read(protocol, bare.body))
      })
    }

    test(`1.6: the recommended model rejects ${title} with 400 (${protocol})`, async () => {
      const model = await recommendedModel()
      const answer = await post(duet, PATHS[protocol], ask(protocol, model, [TEXT, part]))
      expectError(answer, { status: 400, param: 'messages[0].content[1]', protocol })
    })
  }

  for (const protocol of PROTOCOLS) {
    test(`1.6: the recommended model answers what has no image in it (${protocol})`, async () => {
      const { status } = await post(duet, PATHS[protocol], ask(protocol, await recommendedModel(), [TEXT]))
      expect(status).toBe(200)
    })
  }

  test('1.6: exactly one model is recommended', async () => {
    const { body } = await send(duet, '/v1/models')
    expect(body.data.filter(({ recommended }: JsonBody) => recommended)).toHaveLength(1)
  })
})

async function recommendedModel(): Promise<string> {
  const { body } = await send(duet, '/v1/models')
  return body.data.find(({ recommended }: JsonBody) => recommended).id
}

describe('1.7: billing', () => {
  for (const { title, protocol, path, model } of PAIRS) {
    for (const stream of [false, true]) {
      test(`1.7: usage is billed against the account's balance: ${title}${stream ? ', streamed' : ''}`, async () => {
        const { account, key } = await newCaller(duet, { balance: '10' })
        const { status } = await post(duet, path, ask(protocol, model, 'Hi', { stream }), { key })
        expect(status).toBe(200)
        expect(Number(await balanceOf(duet, account))).toBeLessThan(10)
      })
    }
  }

  test('1.7: each key may carry its own cap beside the balance', async () => {
    const { keyId, key } = await newCaller(duet, { balance: '10', cap: '5' })
    await post(duet, CHAT, ask('chat', UPSTREAMS[0].model, 'Hi'), { key })
    const { body } = await duet.admin('GET', `/api/keys/${keyId}`)
    expect(Number(body.remaining)).toBeLessThan(5)
    expect(Number(body.remaining) + Number(body.spent)).toBeCloseTo(5, 9)
  })
})

describe('1.9: the official client libraries work with {base_url} and a model name', () => {
  const openai = () => new OpenAI({ baseURL: duet.base, apiKey: duet.key, maxRetries: 0 })
  const anthropic = () => new Anthropic({ baseURL: duet.base, apiKey: duet.key, maxRetries: 0 })
  const question = { messages: [{ role: 'user' as const, content: 'What is a walrus?' }] }

  test('1.9: the chat library lists models', async () => {
    const ids: string[] = []
    for await (const { id } of openai().models.list()) ids.push(id)
    expect(ids).toEqual([...catalog])
  })

  test('1.9: the messages library lists models', async () => {
    const ids: string[] = []
    for await (const { id } of anthropic().models.list()) ids.push(id)
    expect(ids).toEqual([...catalog])
  })

  for (const { upstream, model } of UPSTREAMS) {
    test(`1.9: the chat library gets a completion over a ${upstream} upstream`, async () => {
      const { choices } = await openai().chat.completions.create({ model, ...question })
      expect(choices[0]?.message.content).toContain('walrus')
    })

    test(`1.9: the chat library streams over a ${upstream} upstream`, async () => {
      let text = ''
      for await (const chunk of await openai().chat.completions.create({ model, ...question, stream: true })) {
        text += chunk.choices[0]?.delta.content ?? ''
      }
      expect(text).toContain('walrus')
    })

    test(`1.9: the messages library gets a message over a ${upstream} upstream`, async () => {
      const { content } = await anthropic().messages.create({ model, max_tokens: 200, ...question })
      expect(content).toEqual([expect.objectContaining({ type: 'text', text: expect.stringContaining('walrus') })])
    })

    test(`1.9: the messages library streams over a ${upstream} upstream`, async () => {
      const stream = anthropic().messages.stream({ model, max_tokens: 200, ...question })
      expect(await stream.finalText()).toContain('walrus')
      expect((await stream.finalMessage()).stop_reason).toBe('end_turn')
    })
  }

  test('1.9: a messages library that sends only Authorization works too', async () => {
    const client = new Anthropic({ baseURL: duet.base, apiKey: null, authToken: duet.key, maxRetries: 0 })
    const { type } = await client.messages.create({ model: UPSTREAMS[1].model, max_tokens: 200, ...question })
    expect(type).toBe('message')
  })
})
