import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { type Duet, type JsonBody, startDuet } from '../support/duet.ts'
import { CHAT, framesOf, MESSAGES, post, send, user } from '../support/http.ts'
import {
  configForBoth,
  eventStream,
  type ScriptedUpstream,
  scriptUpstream,
  type UpstreamVisit,
  VENDOR_MODEL,
} from '../support/upstream.ts'
import { openingFrames, protocolOf, vendorAnswer, vendorBody } from '../support/vendor.ts'
import {
  ask,
  balanceOf,
  expectError,
  newCaller,
  PAIRS,
  type ProtocolName,
  read,
  streamedText,
  toolNamed,
  UPSTREAMS,
} from '../support/wire.ts'

/** One Duet on the sandbox, one on a vendor whose answers are scripted here. */
let duet: Duet
let relayed: Duet
let upstream: ScriptedUpstream
let script: (visit: UpstreamVisit) => Response
let silences: readonly Promise<string>[]

const SILENCE = 'Say good morning, then fall silent'

/** The same pairs on the scripted vendor. */
const VENDOR_PAIRS = PAIRS.map(pair => ({
  ...pair,
  model: `acme/${pair.upstream}`,
  seeing: `acme/${pair.upstream}-seeing`,
}))

beforeAll(async () => {
  upstream = scriptUpstream(visit =>
    visit.text.includes(SILENCE) ? eventStream(openingFrames(protocolOf(visit)), 'silence') : script(visit),
  )
  duet = await startDuet()
  relayed = await startDuet({ config: configForBoth(upstream.base, { more: 'aliases: { walrus: acme/chat }' }) })
  // Ten seconds of silence pass while the other tests run.
  silences = VENDOR_PAIRS.map(readUntilKeepalive)
})
afterAll(async () => {
  await Promise.all([duet.stop(), relayed.stop()])
  await upstream.stop()
})
beforeEach(() => {
  script = vendorAnswer
})

async function readUntilKeepalive({ protocol, path, model }: (typeof VENDOR_PAIRS)[number]): Promise<string> {
  const abort = new AbortController()
  const response = await fetch(relayed.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${relayed.key}` },
    body: JSON.stringify(ask(protocol, model, SILENCE, { stream: true })),
    signal: AbortSignal.any([abort.signal, AbortSignal.timeout(15_000)]),
  })
  let text = ''
  try {
    for await (const chunk of response.body as ReadableStream<Uint8Array>) {
      text += new TextDecoder().decode(chunk)
      if (KEEPALIVES[protocol].test(text)) break
    }
  } catch {
    // Out of time: the test says what was missed.
  }
  abort.abort()
  return text
}

const KEEPALIVES: Record<ProtocolName, RegExp> = { chat: /^:[^\n]*\n\n/m, messages: /^event: ping\ndata: .*\n\n/m }

/** What the vendor was asked by the last call. */
const lastVisit = (): UpstreamVisit => upstream.requests.at(-1) as UpstreamVisit
const visitCount = (): number => upstream.requests.length

describe('Responses: /models', () => {
  test('Responses: the list ends with has_more, first_id and last_id, and has no top-level object', async () => {
    const { body } = await send(duet, '/v1/models')
    const ids = body.data.map(({ id }: JsonBody) => id)
    const { data, ...rest } = body
    expect(data.length).toBeGreaterThan(1)
    expect(rest).toEqual({ has_more: false, first_id: ids[0], last_id: ids.at(-1) })
  })

  test('Responses: each entry has what chat clients, messages clients and people ask for', async () => {
    const { body } = await send(duet, '/v1/models')
    for (const entry of body.data) {
      expect(Number.isInteger(entry.created)).toBe(true)
      expect(Number.isNaN(Date.parse(entry.created_at))).toBe(false)
      expect(entry.owned_by).toBe(entry.id.split('/')[0])
      expect(entry.display_name).toMatch(/./)
      expect(entry).toMatchObject({ object: 'model', type: 'model', pricing: {}, supports: {} })
      expect(entry.context_length).toBeGreaterThan(0)
      expect(entry.max_output_tokens).toBeGreaterThan(0)
      expect(typeof entry.recommended).toBe('boolean')
    }
  })

  test('Responses: GET /models/<vendor>/<model> returns one entry, also with %2F', async () => {
    const { body } = await send(duet, '/v1/models')
    for (const entry of body.data) {
      expect((await send(duet, `/v1/models/${entry.id}`)).body).toEqual(entry)
      expect((await send(duet, `/v1/models/${encodeURIComponent(entry.id)}`)).body).toEqual(entry)
    }
  })

  for (const id of ['acme/no-such', 'acme%2Fno-such', 'gpt-4.1', '%zz']) {
    test(`Responses: GET /models/${id} is 404`, async () => {
      expectError(await send(duet, `/v1/models/${id}`), { status: 404, type: 'invalid_request_error', code: '' })
    })
  }
})

describe('Responses: names and ids', () => {
  for (const { title, protocol, path, model } of VENDOR_PAIRS) {
    for (const stream of [false, true]) {
      const how = `${title}${stream ? ', streamed' : ''}`

      test(`Responses: the model is the catalog id that was asked for, the vendor's name never leaks: ${how}`, async () => {
        const { status, headers, text } = await post(relayed, path, ask(protocol, model, 'Hi', { stream }))
        expect({ status, asked: lastVisit().body.model }).toEqual({ status: 200, asked: VENDOR_MODEL })
        expect(text).toContain(`"model":"${model}"`)
        expect(text + JSON.stringify([...headers])).not.toContain(VENDOR_MODEL)
      })

      test(`Responses: ids are ${protocol === 'chat' ? 'chatcmpl-<hex>' : '32 bare hex digits'}: ${how}`, async () => {
        const { body, text } = await post(relayed, path, ask(protocol, model, 'Hi', { stream }))
        const first = stream ? framesOf(text)[0]?.json : body
        const { id } = first.message ?? first
        expect(id).toMatch(protocol === 'chat' ? /^chatcmpl-[0-9a-f]+$/ : /^[0-9a-f]{32}$/)
      })
    }
  }

  test('Responses: an alias of the configuration is answered with the catalog id', async () => {
    const { status, body } = await post(relayed, CHAT, ask('chat', 'walrus', 'Hi'))
    expect({ status, model: body.model }).toEqual({ status: 200, model: 'acme/chat' })
  })

  const calling = (id: string) => (visit: UpstreamVisit) => {
    const body = vendorBody(protocolOf(visit))
    if (protocolOf(visit) === 'messages') {
      return Response.json({
        ...body,
        content: [{ type: 'tool_use', id, name: 'look', input: {} }],
        stop_reason: 'tool_use',
      })
    }
    const tool_calls = [{ id, type: 'function', function: { name: 'look', arguments: '{}' } }]
    const message = { role: 'assistant', content: null, tool_calls }
    return Response.json({ ...body, choices: [{ index: 0, message, finish_reason: 'tool_calls' }] })
  }

  for (const { title, protocol, path, model, upstream } of VENDOR_PAIRS) {
    test(`Responses: tool-call ids pass through: ${title}`, async () => {
      const id = upstream === 'chat' ? 'call_AbC-123_x' : 'toolu_AbC-123_x'
      script = calling(id)
      const { body } = await post(relayed, path, ask(protocol, model, 'Look!', toolNamed(protocol, 'look')))
      expect(read(protocol, body).calls).toMatchObject([{ id, name: 'look' }])
    })
  }

  test('Responses: a tool-call id that is illegal in the messages protocol is made legal there, and only there', async () => {
    script = calling('functions.look:0')
    const chat = await post(relayed, CHAT, ask('chat', 'acme/chat', 'Look!', toolNamed('chat', 'look')))
    expect(read('chat', chat.body).calls[0]?.id).toBe('functions.look:0')
    const request = ask('messages', 'acme/chat', 'Look!', toolNamed('messages', 'look'))
    const messages = await post(relayed, MESSAGES, request)
    expect(read('messages', messages.body).calls[0]?.id).toMatch(/^[a-zA-Z0-9_-]+$/)
  })
})

describe('Responses: reasoning', () => {
  for (const { upstream, thinker } of UPSTREAMS) {
    test(`Responses: chat streams reasoning_content, then content, over a ${upstream} upstream`, async () => {
      const { text } = await post(duet, CHAT, ask('chat', thinker, 'Hi', { stream: true }))
      const kinds = framesOf(text).flatMap(({ json }) => {
        const { reasoning_content, content } = json?.choices?.[0]?.delta ?? {}
        return [...(reasoning_content ? ['reasoning_content'] : []), ...(content ? ['content'] : [])]
      })
      expect(kinds.filter((kind, place) => kind !== kinds[place - 1])).toEqual(['reasoning_content', 'content'])
    })

    test(`Responses: chat puts the same reasoning beside the content over a ${upstream} upstream`, async () => {
      const { text } = await post(duet, CHAT, ask('chat', thinker, 'Hi', { stream: true }))
      const streamed = framesOf(text).map(({ json }) => json?.choices?.[0]?.delta?.reasoning_content ?? '')
      const { message } = (await post(duet, CHAT, ask('chat', thinker, 'Hi'))).body.choices[0]
      expect(streamed.join('')).toBe(message.reasoning_content)
      expect(message.content).not.toContain(message.reasoning_content)
    })

    const ASKING = [{ type: 'enabled', budget_tokens: 1024 }, { type: 'adaptive' }]
    for (const thinking of ASKING) {
      const how = `thinking ${thinking.type} over a ${upstream} upstream`
      const more = { thinking, max_tokens: 4096 }

      test(`Responses: thinking blocks come first where the request asked for them: ${how}`, async () => {
        const { status, body } = await post(duet, MESSAGES, ask('messages', thinker, 'Hi', more))
        expect(status).toBe(200)
        expect(body.content).toMatchObject([
          { type: 'thinking', thinking: expect.stringMatching(/./), signature: expect.any(String) },
          { type: 'text', text: expect.stringContaining('Hi') },
        ])
      })

      test(`Responses: and so they do in a stream: ${how}`, async () => {
        const { text } = await post(duet, MESSAGES, ask('messages', thinker, 'Hi', { ...more, stream: true }))
        const frames = framesOf(text)
        const started = frames.flatMap(({ json }) =>
          json.content_block ? [[json.index, json.content_block.type]] : [],
        )
        expect(started).toEqual([
          [0, 'thinking'],
          [1, 'text'],
        ])
        const thought = frames.map(({ json }) => (json.delta?.type === 'thinking_delta' ? json.delta.thinking : ''))
        expect(thought.join('')).toMatch(/./)
        expect(streamedText('messages', frames)).toContain('Hi')
      })
    }

    for (const more of [{}, { thinking: { type: 'disabled' } }]) {
      test(`Responses: with ${JSON.stringify(more)} there is only text over a ${upstream} upstream`, async () => {
        const { body } = await post(duet, MESSAGES, ask('messages', thinker, 'Hi', more))
        const { text } = await post(duet, MESSAGES, ask('messages', thinker, 'Hi', { ...more, stream: true }))
        expect(body.content.map(({ type }: JsonBody) => type)).toEqual(['text'])
        const started = framesOf(text).flatMap(({ json }) => json.content_block?.type ?? [])
        expect(started).toEqual(['text'])
        expect(text).not.toContain('thinking_delta')
      })
    }
  }
})

describe('Responses: usage', () => {
  for (const { title, protocol, path, model } of VENDOR_PAIRS) {
    test(`Responses: the gateway asks upstream for usage itself, and the vendor's counts are the answer: ${title}`, async () => {
      const { body } = await post(relayed, path, ask(protocol, model, 'Hi'))
      expect(read(protocol, body)).toMatchObject({ input: 7, output: 5 })
      const { account, key } = await newCaller(relayed, { balance: '10' })
      await post(relayed, path, ask(protocol, model, 'Hi', { stream: true }), { key })
      if (protocolOf(lastVisit()) === 'chat') expect(lastVisit().body.stream_options).toEqual({ include_usage: true })
      expect(10 - Number(await balanceOf(relayed, account))).toBeCloseTo((7 * 1 + 5 * 4) / 1e6, 9)
    })
  }

  for (const { title, protocol, path, thinker } of PAIRS) {
    test(`Responses: usage says what the call cost, in decimal dollars: ${title}`, async () => {
      const { headers, body } = await post(duet, path, ask(protocol, thinker, 'Hi'))
      expect(body.usage.cost).toMatch(/^\d+\.\d+$/)
      expect(Number(body.usage.cost)).toBeGreaterThan(0)
      expect(Number(body.usage.cost)).toBe(Number(headers.get('x-duet-cost')))
    })

    test(`Responses: and so does the usage of a stream: ${title}`, async () => {
      const { account, key } = await newCaller(duet, { balance: '10' })
      const more = { stream: true, ...(protocol === 'chat' ? { stream_options: { include_usage: true } } : {}) }
      const { text } = await post(duet, path, ask(protocol, thinker, 'Hi', more), { key })
      const costs = framesOf(text).flatMap(({ json }) => json?.usage?.cost ?? [])
      expect(costs).toEqual([expect.stringMatching(/^\d+\.\d+$/)])
      expect(10 - Number(costs[0])).toBeCloseTo(Number(await balanceOf(duet, account)), 9)
    })
  }

  for (const { upstream, thinker } of UPSTREAMS) {
    test(`Responses: chat counts the reasoning tokens apart over a ${upstream} upstream`, async () => {
      const { usage } = (await post(duet, CHAT, ask('chat', thinker, 'Hi'))).body
      expect(usage.completion_tokens_details.reasoning_tokens).toBeGreaterThan(200)
      expect(usage.completion_tokens_details.reasoning_tokens).toBeLessThan(usage.completion_tokens)
      expect(usage.prompt_tokens_details).toBeObject()
    })
  }
})

const IMAGES: Record<ProtocolName, object> = {
  chat: { type: 'image_url', image_url: { url: 'data:image/png;base64,aW1hZ2U=' } },
  messages: { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aW1hZ2U=' } },
}
const TEXT = { type: 'text', text: 'What is it?' }

describe('Responses: images', () => {
  for (const { title, protocol, path, model, seeing } of VENDOR_PAIRS) {
    const content = [TEXT, IMAGES[protocol]]

    test(`Responses: images are dropped before upstream, and the rest is not: ${title}`, async () => {
      const { status } = await post(relayed, path, ask(protocol, model, content))
      expect(status).toBe(200)
      expect(lastVisit().text).toContain('What is it?')
      expect(lastVisit().text).not.toContain('aW1hZ2U=')
    })

    test(`Responses: a message of images alone is accepted: ${title}`, async () => {
      const { status } = await post(relayed, path, ask(protocol, model, [IMAGES[protocol]]))
      expect(status).toBe(200)
      expect(lastVisit().text).not.toContain('aW1hZ2U=')
    })

    test(`Responses: an operator may have them passed on: ${title}`, async () => {
      const { status, headers } = await post(relayed, path, ask(protocol, seeing, content))
      expect({ status, dropped: headers.get('x-duet-dropped') }).toEqual({ status: 200, dropped: null })
      expect(lastVisit().body.messages[0].content).toMatchObject([TEXT, IMAGES[protocolOf(lastVisit())]])
    })
  }
})

describe('Responses: fields', () => {
  for (const { title, model, upstream } of VENDOR_PAIRS.filter(({ protocol }) => protocol === 'chat')) {
    test(`Responses: max_completion_tokens is passed on in a field that upstream understands: ${title}`, async () => {
      await post(relayed, CHAT, ask('chat', model, 'Hi', { max_completion_tokens: 33 }))
      const { max_tokens, max_completion_tokens } = lastVisit().body
      const sent = upstream === 'messages' ? [max_tokens] : [max_tokens ?? max_completion_tokens]
      expect(sent).toEqual([33])
    })
  }

  for (const { title, protocol, path, model, upstream } of VENDOR_PAIRS) {
    for (const stream of [false, true]) {
      test(`Responses: unknown fields are ${protocol === upstream ? 'passed on' : 'dropped'}: ${title}${stream ? ', streamed' : ''}`, async () => {
        const unknown = { flavour: { of: ['tea', 1.5, null] }, zest: 'lemon' }
        const { status } = await post(relayed, path, ask(protocol, model, 'Hi', { ...unknown, stream }))
        const { flavour, zest } = lastVisit().body
        expect(status).toBe(200)
        expect({ flavour, zest } as object).toEqual(protocol === upstream ? unknown : {})
      })
    }

    test(`Responses: what a message of an accepted role says reaches upstream: ${title}`, async () => {
      const roles = protocol === 'chat' ? ['system', 'developer'] : ['system']
      for (const role of roles) {
        const messages = [{ role, content: `Speak as a ${role} would.` }, ...user('Hi')]
        const { status } = await post(relayed, path, ask(protocol, model, '', { messages }))
        expect(status).toBe(200)
        expect(lastVisit().text).toContain(`Speak as a ${role} would.`)
      }
    })

    test(`Responses: thread is refused so that the official client replays the conversation: ${title}`, async () => {
      const visits = visitCount()
      const answer = await post(relayed, path, ask(protocol, model, 'Hi', { thread: { id: 'thread_1' } }))
      const error = expectError(answer, { status: 400, protocol })
      expect(error.details).toEqual({ error_code: 'thread_unsupported_request', unsupported: ['thread'] })
      expect(visitCount()).toBe(visits)
    })
  }

  for (const { upstream, model, thinker } of UPSTREAMS) {
    for (const id of [model, thinker]) {
      test(`Responses: json_object parses as JSON, streamed too, over a ${upstream} upstream (${id})`, async () => {
        const format = { response_format: { type: 'json_object' } }
        const whole = await post(duet, CHAT, ask('chat', id, 'Answer in JSON', format))
        const { text } = await post(duet, CHAT, ask('chat', id, 'Answer in JSON', { ...format, stream: true }))
        expect(JSON.parse(read('chat', whole.body).text)).toBeObject()
        expect(JSON.parse(streamedText('chat', framesOf(text)))).toBeObject()
      })
    }
  }
})

describe('Beyond the contract: headers', () => {
  const DOLLARS = /^\d+(\.\d+)?$/

  for (const { title, protocol, path, model } of PAIRS) {
    test(`Beyond the contract: cost, balance and what is left of the key: ${title}`, async () => {
      const { account, keyId, key } = await newCaller(duet, { balance: '10', cap: '5' })
      const { headers } = await post(duet, path, ask(protocol, model, 'Hi'), { key })
      const [cost, balance, remaining] = ['cost', 'balance', 'key-remaining'].map(name => headers.get(`x-duet-${name}`))
      for (const amount of [cost, balance, remaining]) expect(amount).toMatch(DOLLARS)
      expect(Number(cost)).toBeGreaterThan(0)
      expect(Number(balance)).toBeCloseTo(10 - Number(cost), 9)
      expect(Number(balance)).toBe(Number(await balanceOf(duet, account)))
      expect(Number(remaining)).toBe(Number((await duet.admin('GET', `/api/keys/${keyId}`)).body.remaining))
    })

    test(`Beyond the contract: a key without a cap has no x-duet-key-remaining: ${title}`, async () => {
      const { headers } = await post(duet, path, ask(protocol, model, 'Hi'))
      expect(headers.get('x-duet-balance')).toMatch(DOLLARS)
      expect(headers.get('x-duet-key-remaining')).toBeNull()
    })

    test(`Beyond the contract: a stream does not claim a cost before its body: ${title}`, async () => {
      const { headers } = await post(duet, path, ask(protocol, model, 'Hi', { stream: true }))
      expect(headers.get('x-duet-cost')).toBeNull()
    })

    test(`Beyond the contract: what the sandbox answers carries x-duet-sandbox: ${title}`, async () => {
      for (const stream of [false, true]) {
        const { headers } = await post(duet, path, ask(protocol, model, 'Hi', { stream }))
        expect(headers.get('x-duet-sandbox')).toBe('true')
      }
    })
  }

  const CACHED = [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }]
  const LOSSES = [
    ...VENDOR_PAIRS.map(pair => ({ ...pair, content: [TEXT, IMAGES[pair.protocol]] as object[], dropped: 'image' })),
    ...VENDOR_PAIRS.filter(pair => pair.protocol === 'messages' && pair.upstream === 'chat').map(pair => ({
      ...pair,
      content: CACHED,
      dropped: 'cache_control',
    })),
  ]
  for (const { title, protocol, path, model, content, dropped } of LOSSES) {
    test(`Beyond the contract: x-duet-dropped names ${dropped}: ${title}`, async () => {
      for (const stream of [false, true]) {
        const { status, headers } = await post(relayed, path, ask(protocol, model, content, { stream }))
        expect({ status, dropped: headers.get('x-duet-dropped') }).toEqual({ status: 200, dropped })
      }
    })

    test(`Beyond the contract: x-duet-strict turns the loss of ${dropped} into a 400: ${title}`, async () => {
      const visits = visitCount()
      const headers = { 'x-duet-strict': 'true' }
      expectError(await post(relayed, path, ask(protocol, model, content), { headers }), { status: 400, protocol })
      expect(visitCount()).toBe(visits)
    })
  }

  for (const { title, protocol, path, model } of VENDOR_PAIRS) {
    test(`Beyond the contract: without a loss there is no x-duet-dropped and nothing is refused: ${title}`, async () => {
      const headers = { 'x-duet-strict': 'true' }
      const answer = await post(relayed, path, ask(protocol, model, 'Hi'), { headers })
      expect({ status: answer.status, dropped: answer.headers.get('x-duet-dropped') }).toEqual({
        status: 200,
        dropped: null,
      })
    })
  }

  test('Beyond the contract: cache_control reaches an upstream that knows it', async () => {
    const { headers } = await post(relayed, MESSAGES, ask('messages', 'acme/messages', CACHED))
    expect(headers.get('x-duet-dropped')).toBeNull()
    expect(lastVisit().body.messages[0].content).toEqual(CACHED)
  })
})

describe('Responses: silence', () => {
  for (const [place, { title, protocol }] of VENDOR_PAIRS.entries()) {
    test(`Responses: a silent stream is kept alive, after what came before: ${title}`, async () => {
      const text = (await silences[place]) ?? ''
      const [before, after] = text.split(KEEPALIVES[protocol])
      expect(streamedText(protocol, framesOf(before ?? ''))).toBe('Good morning')
      expect(after).toBe('')
      if (protocol === 'messages') expect(text).toStartWith('event: message_start\n')
    }, 20_000)
  }
})
