import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Duet, startDuet } from '../support/duet.ts'
import { CHAT, MESSAGES, post, user } from '../support/http.ts'
import { configFor, type ScriptedUpstream, scriptUpstream } from '../support/upstream.ts'

/** An upstream that writes a few frames and then thinks for ever. */
const FRAMES = {
  chat: [
    'data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Hello"},"finish_reason":null}]}\n\n',
  ],
  messages: [
    'event: message_start\ndata: {"type":"message_start","message":{"id":"x","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":7,"output_tokens":1}}}\n\n',
    'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n',
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}\n\n',
  ],
} as const

for (const protocol of ['chat', 'messages'] as const) {
  describe(`a caller who leaves, ${protocol}-speaking upstream`, () => {
    let upstream: ScriptedUpstream
    let duet: Duet
    const left: Promise<void>[] = []

    beforeAll(async () => {
      upstream = scriptUpstream(visit => {
        left.push(new Promise(resolve => visit.signal.addEventListener('abort', () => resolve())))
        if (!visit.body.stream) return new Promise(() => {})
        const frames: string[] = [...FRAMES[protocol]]
        const body = new ReadableStream<Uint8Array>({
          pull(controller) {
            const next = frames.shift()
            if (next) controller.enqueue(new TextEncoder().encode(next))
            else return new Promise(() => {})
          },
        })
        return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
      })
      duet = await startDuet({ config: configFor(upstream.base, protocol) })
    })
    afterAll(async () => {
      await duet.stop()
      await upstream.stop()
    })

    for (const path of [CHAT, MESSAGES]) {
      test(`${path}: in the middle of a stream stops the upstream call, pays, and leaves nothing held`, async () => {
        const before = await account(duet)
        const abort = new AbortController()
        const response = await fetch(duet.url + path, {
          method: 'POST',
          headers: { authorization: `Bearer ${duet.key}` },
          body: JSON.stringify({ model: 'acme/swift-2', max_tokens: 50, stream: true, messages: user('Hi') }),
          signal: abort.signal,
        })
        await response.body?.getReader().read()
        const upstreamLeft = left.at(-1)
        abort.abort()
        await upstreamLeft
        const after = await settledAccount(duet)
        expect(after.held).toBe('0.00')
        expect(Number(after.spent)).toBeGreaterThan(Number(before.spent))
      })

      test(`${path}: before a whole answer came stops the upstream call and leaves nothing held`, async () => {
        const abort = new AbortController()
        const asked = upstream.requests.length
        const gone = post(
          duet,
          path,
          { model: 'acme/swift-2', max_tokens: 50, messages: user('Hi') },
          { signal: abort.signal },
        ).catch(error => error)
        while (upstream.requests.length === asked) await Bun.sleep(2)
        const upstreamLeft = left.at(-1)
        abort.abort()
        expect((await gone).name).toBe('AbortError')
        await upstreamLeft
        expect((await settledAccount(duet)).held).toBe('0.00')
      })
    }
  })
}

const account = async (duet: Duet) => (await duet.admin('GET', '/api/accounts/default')).body

/** The account once nothing is held; the test's own time limit ends a wait in vain. */
async function settledAccount(duet: Duet) {
  for (;;) {
    const found = await account(duet)
    if (found.held === '0.00') return found
    await Bun.sleep(5)
  }
}
