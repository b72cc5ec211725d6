import { beforeEach, describe, expect } from 'bun:test'
import { type Answer, post, framesOf as readFrames } from '../support/http.ts'
import type { UpstreamVisit } from '../support/upstream.ts'
import { bodyFor, eachPair, PATHS, type Pair, type Protocol, useScript } from './pairs.ts'
import { framesOf, messagesFrame, PLAIN_USAGE, protocolOf, type Said } from './wire.ts'

const stage = useScript('    reasoning: true')

/** As short as the protocols allow, with characters of two, three and four bytes. */
const SMALL: Record<Protocol, string> = {
  chat: [
    chunk('"role":"assistant","content":"Å 世 🦜"'),
    chunk('"tool_calls":[{"index":0,"id":"t","type":"function","function":{"name":"f","arguments":"{\\"é"}}]'),
    chunk('"tool_calls":[{"index":0,"function":{"arguments":"\\":1}"}}]'),
    chunk('', '"tool_calls"'),
    'data: {"id":"c","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}\n\n',
    'data: [DONE]\n\n',
  ].join(''),
  messages: [
    messagesFrame('message_start', { message: { id: 'm', content: [], usage: { input_tokens: 1, output_tokens: 0 } } }),
    messagesFrame('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    messagesFrame('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Å 世 🦜' } }),
    messagesFrame('content_block_stop', { index: 0 }),
    messagesFrame('content_block_start', {
      index: 1,
      content_block: { type: 'tool_use', id: 't', name: 'f', input: {} },
    }),
    messagesFrame('content_block_delta', { index: 1, delta: { type: 'input_json_delta', partial_json: '{"é":1}' } }),
    messagesFrame('content_block_stop', { index: 1 }),
    messagesFrame('message_delta', { delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 2 } }),
    messagesFrame('message_stop', {}),
  ].join(''),
}

const RICH: Said = {
  reasoning: 'Überlegen wir: 世界…',
  text: 'The parrot says 🦜, naïvely.',
  calls: [
    { id: 'call_1', name: 'count', arguments: '{"n":12345678901234567890,"of":"Äpfel"}' },
    { id: 'call_2', name: 'count', arguments: '{}' },
  ],
  finish: 'tool_calls',
  usage: PLAIN_USAGE,
}

/** What the next upstream answers send; every piece is a chunk of its own. */
let deliver: (protocol: Protocol) => Pieces = () => []

beforeEach(() => {
  stage.answer = (visit: UpstreamVisit) => stream(deliver(protocolOf(visit)))
})

describe('where the bytes of an upstream stream are split makes no difference', () => {
  eachPair('at every byte once', async pair => {
    const bytes = new TextEncoder().encode(SMALL[pair.upstream])
    deliver = () => [bytes]
    const whole = textOf(await read(pair))
    expect(whole).toContain('Å 世 🦜')

    let at = 0
    deliver = () => {
      at++
      return [bytes.subarray(0, at), bytes.subarray(at)]
    }
    const differing = new Set<string>()
    for (let sent = 1; sent < bytes.length; sent += BATCH) {
      const answers = await Promise.all(
        Array.from({ length: Math.min(BATCH, bytes.length - sent) }, async () => textOf(await read(pair))),
      )
      for (const answer of answers) if (answer !== whole) differing.add(answer)
    }
    expect(at).toBe(bytes.length - 1)
    expect([...differing]).toEqual([])
  })

  eachPair('at all bytes at once', async pair => {
    const bytes = new TextEncoder().encode(SMALL[pair.upstream])
    deliver = () => [bytes]
    const whole = textOf(await read(pair))
    deliver = () => Array.from(bytes, byte => Uint8Array.of(byte))
    expect(textOf(await read(pair))).toBe(whole)
  })

  eachPair('anywhere in a longer answer', async pair => {
    const bytes = new TextEncoder().encode(framesOf(pair.upstream, RICH).join(''))
    deliver = () => [bytes]
    const whole = textOf(await read(pair))
    expect(whole).toContain('count')
    deliver = () =>
      Array.from({ length: Math.ceil(bytes.length / 11) }, (_, at) => bytes.subarray(11 * at, 11 * at + 11))
    expect(textOf(await read(pair))).toBe(whole)
  })

  for (const [name, end] of [
    ['CR LF', '\r\n'],
    ['CR', '\r'],
  ] as const) {
    eachPair(`nor does it whether lines end with LF or ${name}`, async pair => {
      deliver = () => [new TextEncoder().encode(SMALL[pair.upstream])]
      const whole = textOf(await read(pair))
      const text = SMALL[pair.upstream].replaceAll('\n', end)
      deliver = () => [new TextEncoder().encode(text)]
      expect(textOf(await read(pair))).toBe(whole)
      deliver = () => text.split(/(?<=\r)/).map(piece => new TextEncoder().encode(piece))
      expect(textOf(await read(pair))).toBe(whole)
    })
  }
})

describe('where a broken upstream stream is split makes no difference', () => {
  const BREAKS: readonly { what: string; after: Record<Protocol, string> }[] = [
    { what: 'a frame that is not JSON', after: { chat: 'data: {"id":\n\n', messages: 'event: ping\ndata: {"ty\n\n' } },
    {
      what: 'an error of the vendor',
      after: {
        chat: 'data: {"error":{"message":"overloaded","type":"server_error"}}\n\n',
        messages: messagesFrame('error', { error: { type: 'overloaded_error', message: 'overloaded' } }),
      },
    },
    { what: 'an early end', after: { chat: '', messages: '' } },
  ]
  const said: Said = { text: 'The tide comes in twice a day.', finish: 'stop', usage: PLAIN_USAGE }

  for (const { what, after } of BREAKS) {
    eachPair(`${what}: the text before it arrives, then an error`, async pair => {
      const frames = framesOf(pair.upstream, said)
      const first = frames.findIndex(frame => frame.includes('The tide'))
      const last = frames.findIndex(frame => frame.includes('"ay."'))
      const opening = frames.slice(0, first + 1).join('')
      const rest = frames.slice(first + 1, last + 1).join('') + after[pair.upstream]

      const heard = Promise.withResolvers<void>()
      deliver = () => [new TextEncoder().encode(opening), heard.promise, new TextEncoder().encode(rest)]
      const answer = await readAloud(pair, text => text.includes('The tide') && heard.resolve())
      expect(answer.status).toBe(200)
      expect(spokenIn(answer)).toBe('The tide comes in twice a day.')
      expect(readFrames(answer.text).filter(({ json }) => json?.error)).toHaveLength(1)
    })

    eachPair(`${what}: whatever is said, an answer that failed does not look whole`, async pair => {
      const frames = framesOf(pair.upstream, said)
      const last = frames.findIndex(frame => frame.includes('"ay."'))
      deliver = () => [new TextEncoder().encode(frames.slice(0, last + 1).join('') + after[pair.upstream])]
      const { status, body, text } = await read(pair)
      const failures = status === 200 ? readFrames(text).filter(({ json }) => json?.error) : [{ json: body }]
      expect(failures.map(({ json }) => json.error.code)).toEqual(['upstream_error'])
      expect(text).not.toMatch(/"finish_reason":"|message_stop/)
    })
  }
})

/** Enough at once to hide the waiting, few enough to be served at once. */
const BATCH = 40

function read(pair: Pair): Promise<Answer> {
  const tools = [{ name: 'count', schema: { type: 'object', properties: {} } }]
  const body = bodyFor(stage, pair, { messages: [{ user: 'Speak.' }], tools, stream: true })
  return post(stage.duet, PATHS[pair.client], body)
}

/** Without what is new in every answer. */
function textOf({ text }: Answer): string {
  return text.replaceAll(/"id":"(?:chatcmpl-)?[0-9a-f]{32}"/g, '"id":""').replaceAll(/"created":\d+/g, '"created":0')
}

function spokenIn({ text }: Pick<Answer, 'text'>): string {
  return readFrames(text)
    .map(({ json }) => json?.delta?.text ?? json?.choices?.[0]?.delta.content ?? '')
    .join('')
}

/** Reads as it arrives, and shows what has arrived so far. */
async function readAloud(pair: Pair, show: (text: string) => void): Promise<Pick<Answer, 'status' | 'text'>> {
  const body = bodyFor(stage, pair, { messages: [{ user: 'Speak.' }], stream: true })
  const headers = { authorization: `Bearer ${stage.duet.key}` }
  const init = { method: 'POST', body: JSON.stringify(body), headers }
  const response = await fetch(stage.duet.url + PATHS[pair.client], init)
  const decoder = new TextDecoder()
  let text = ''
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes, { stream: true })
    show(text)
  }
  return { status: response.status, text }
}

/** Bytes to send, and events to wait for before the next are sent. */
type Pieces = readonly (Uint8Array | Promise<void>)[]

/** No event tells when the other side has taken what was sent; without a pause two writes arrive as one. */
const PAUSE_MS = 1

function stream(pieces: Pieces): Response {
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      for (const piece of pieces) {
        if (piece instanceof Promise) await piece
        else controller.enqueue(piece)
        await Bun.sleep(PAUSE_MS)
      }
      controller.close()
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

function chunk(delta: string, finish = 'null'): string {
  const choice = `{"index":0,"delta":{${delta}},"finish_reason":${finish}}`
  return `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[${choice}]}\n\n`
}
