import { describe, expect, test } from 'bun:test'
import { brotliCompressSync } from 'node:zlib'
import type { JsonBody } from '../../support/duet.ts'
import { eventStream } from '../../support/upstream.ts'
import { chatFrame, messagesFrame, openingFrames, vendorBody, vendorError, vendorFrames } from '../../support/vendor.ts'
import { brokenEnd, PROTOCOLS, type ProtocolName, streamedText } from '../../support/wire.ts'
import { type Played, type Script, useKinds } from './stage.ts'

/** Section 3.1: what a stream of either kind of upstream may look like on the wire. */

const stage = useKinds({ chat: { protocol: 'chat' }, messages: { protocol: 'messages' } })

const PAIRS = PROTOCOLS.flatMap(client => PROTOCOLS.map(upstream => ({ client, upstream })))
const delta = (protocol: ProtocolName, text: string) =>
  protocol === 'chat'
    ? chatFrame({ delta: { content: text } })
    : messagesFrame('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })

/** A whole stream that says the given text. */
function frames(protocol: ProtocolName, said: string): string[] {
  const [opening, whole] = [openingFrames(protocol), vendorFrames(protocol)]
  return [...opening.slice(0, -2), delta(protocol, said), ...whole.slice(opening.length)]
}

const sse = (body: string | Uint8Array<ArrayBuffer> | ReadableStream, headers: Record<string, string> = {}) =>
  new Response(body, { headers: { 'content-type': 'text/event-stream', ...headers } })

/** Every chunk is a write of its own; without a pause two of them arrive as one. */
function chunked(bytes: Uint8Array, size: number): Response {
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      for (let at = 0; at < bytes.length; at += size) {
        controller.enqueue(bytes.slice(at, at + size))
        await Bun.sleep(1)
      }
      controller.close()
    },
  })
  return sse(body)
}

const isWhole = (client: ProtocolName, { frames }: Played): boolean =>
  client === 'chat'
    ? frames.at(-1)?.data === '[DONE]' && frames.some(({ json }) => json?.choices?.[0]?.finish_reason === 'stop')
    : frames.at(-1)?.event === 'message_stop'

function expectSaid(client: ProtocolName, played: Played, said: string): void {
  expect(played.status).toBe(200)
  expect(streamedText(client, played.frames)).toBe(said)
  expect(isWhole(client, played)).toBe(true)
}

const SAID = 'Grüße 😀 世界 — "done"\n\n'
const encode = (text: string) => new TextEncoder().encode(text)

for (const { client, upstream } of PAIRS) {
  describe(`${client} client, ${upstream} upstream`, () => {
    const play = (answer: Script, fields: object = {}) =>
      stage.ask(client, upstream, { stream: true, ...fields }, { answer })
    const lines = (text: string) => play(() => sse(text))

    test('characters may be split anywhere', async () => {
      const bytes = encode(frames(upstream, 'ü😀世').join(''))
      expectSaid(client, await play(() => chunked(bytes, 1)), 'ü😀世')
    }, 20_000)

    const ENDS = {
      LF: () => '\n',
      CR: () => '\r',
      CRLF: () => '\r\n',
      'CR, LF and CRLF in turn': (place: number) => ['\n', '\r', '\r\n'][place % 3] ?? '\n',
    }
    for (const [name, end] of Object.entries(ENDS)) {
      test(`lines may end with ${name}`, async () => {
        let place = 0
        const text = frames(upstream, SAID)
          .join('')
          .replace(/\n/g, () => end(place++))
        expectSaid(client, await lines(text), SAID)
        expectSaid(client, await play(() => chunked(encode(text), 7)), SAID)
      })
    }

    test('a byte order mark, comments, missing spaces, empty data and bare events are no harm', async () => {
      const noise = ': hello\n\nevent: keepalive\n\ndata:\n\nid: 7\nretry: 10\n\n'
      const text = frames(upstream, SAID).map(frame => noise + frame.replace(/^(data|event): /gm, '$1:'))
      expectSaid(client, await lines(`\ufeff${text.join('')}`), SAID)
    })

    test('data may be spread over several lines', async () => {
      const text = frames(upstream, SAID).map(frame => frame.replace(/^data: \{/gm, 'data: {\ndata: '))
      expectSaid(client, await lines(text.join('')), SAID)
    })

    test('the last frame may lack its blank line', async () => {
      expectSaid(client, await lines(frames(upstream, SAID).join('').trimEnd()), SAID)
    })

    test('a frame may be larger than a megabyte', async () => {
      const large = 'x1é'.repeat(500_000)
      expectSaid(client, await play(() => eventStream(frames(upstream, large))), large)
    })

    test('the content type may be wrong', async () => {
      for (const type of ['text/plain', 'application/octet-stream', 'application/json']) {
        expectSaid(client, await play(() => sse(frames(upstream, SAID).join(''), { 'content-type': type })), SAID)
      }
    })

    test('a whole answer to a stream request becomes a stream', async () => {
      expectSaid(client, await play(() => Response.json(vendorBody(upstream, SAID))), SAID)
    })

    test('what comes behind the end is ignored', async () => {
      expectSaid(client, await lines([...frames(upstream, SAID), delta(upstream, 'MORE')].join('')), SAID)
    })

    test('a frame that is not JSON breaks the stream', async () => {
      const [first = '', ...rest] = [
        ...openingFrames(upstream),
        'data: {"broken": \n\n',
        ...frames(upstream, 'x').slice(-3),
      ]
      const played = await play(() => eventStream([first, ...rest]))
      expect(brokenEnd(client, played.text)).toBeObject()
    })

    test('an error before the first frame has a status of its own', async () => {
      for (const [status, wanted] of [
        [429, 429],
        [500, 502],
        [503, 502],
        [400, 400],
        [401, 502],
      ] as const) {
        const played = await play(() => Response.json(vendorError(upstream, 'no'), { status }))
        expect([played.status, played.headers.get('content-type')?.split(';')[0]]).toEqual([wanted, 'application/json'])
        expect(played.body.error).toBeObject()
      }
    })

    test('an error in the first frame has a status, too', async () => {
      const error =
        upstream === 'chat'
          ? `data: ${JSON.stringify({ error: { message: 'busy', type: 'server_error', code: null } })}\n\n`
          : messagesFrame('error', { error: { type: 'overloaded_error', message: 'busy' } })
      const played = await play(() => eventStream([error]))
      expect(played.status).toBeGreaterThanOrEqual(400)
      expect(played.body.error).toBeObject()
    })

    test('a stream that ends before its first frame has a status, too', async () => {
      expect((await play(() => sse(''))).status).toBe(502)
    })

    const CODINGS: Readonly<Record<string, (bytes: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer>>> = {
      gzip: bytes => Bun.gzipSync(bytes),
      br: bytes => new Uint8Array(brotliCompressSync(bytes)),
      zstd: bytes => new Uint8Array(Bun.zstdCompressSync(bytes)),
    }
    for (const [coding, compress] of Object.entries(CODINGS)) {
      test(`${coding} is unpacked, streamed and whole`, async () => {
        const headers = { 'content-encoding': coding }
        const streamed = await play(() => sse(compress(encode(frames(upstream, SAID).join(''))), headers))
        expectSaid(client, streamed, SAID)
        const packed = compress(encode(JSON.stringify(vendorBody(upstream, SAID))))
        const answer = () => new Response(packed, { headers: { 'content-type': 'application/json', ...headers } })
        const { body, headers: received }: { body: JsonBody; headers: Headers } = await stage.ask(
          client,
          upstream,
          {},
          { answer },
        )
        expect(client === 'chat' ? body.choices[0].message.content : body.content[0].text).toBe(SAID)
        expect(received.get('content-encoding')).toBeNull()
      })
    }
  })
}
