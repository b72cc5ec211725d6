import { describe, expect, test } from 'bun:test'
import { PAIRS } from '../../pairs/pairs.ts'
import type { JsonBody } from '../../support/duet.ts'
import { eventStream } from '../../support/upstream.ts'
import { protocolOf } from '../../support/vendor.ts'
import { type Played, type Script, useKinds } from '../rules/stage.ts'
import { DONE } from './chunks.ts'
import { BODIES, ERROR, REQUESTS, STREAMS } from './samples.ts'

/** Objects that have a say in what text they would be, wherever JSON has room for them. */

const CAN = { vision: true, documents: true, strict_tools: true, structured_output: true, cache_control: true }

const stage = useKinds({
  chat: { protocol: 'chat', capabilities: CAN },
  messages: { protocol: 'messages', capabilities: CAN },
})

const ODD: JsonBody = { toString: 5, valueOf: 5 }

/** The value once for each place in it, with the odd object there instead. */
function withOddPlaces(value: JsonBody): JsonBody[] {
  if (typeof value !== 'object' || value === null) return [ODD]
  const inside = Object.keys(value).flatMap(key =>
    withOddPlaces(value[key]).map(changed =>
      Object.assign(Array.isArray(value) ? [...value] : { ...value }, { [key]: changed }),
    ),
  )
  return [ODD, ...inside]
}

/** The contract has a 500 for fields that are missing; every other one is our own mistake. */
function expectNoMistake({ status, body, text: said }: Played, about: JsonBody): void {
  const isMistake = (status === 500 && body?.error?.code !== 'invalid_request') || said.includes('internal_error')
  expect(isMistake ? { about: JSON.stringify(about), said } : undefined).toBeUndefined()
}

const named = (frame: JsonBody): string =>
  typeof frame.type === 'string'
    ? `event: ${frame.type}\ndata: ${JSON.stringify(frame)}\n\n`
    : `data: ${JSON.stringify(frame)}\n\n`

const asStream =
  (frames: readonly JsonBody[]): Script =>
  visit =>
    eventStream([...frames.map(named), ...(protocolOf(visit) === 'chat' ? [DONE] : [])])

/** Streams in which one frame is odd in one place. */
const oddStreams = (frames: readonly JsonBody[]): JsonBody[][] =>
  frames.flatMap((frame, place) => withOddPlaces(frame).map(odd => frames.with(place, odd) as JsonBody[]))

for (const { client, upstream } of PAIRS) {
  describe(`${client} client, ${upstream} upstream: an odd object is no mistake of ours`, () => {
    test('wherever it stands in a request', async () => {
      const request = REQUESTS[client]
      expect((await stage.ask(client, upstream, request)).status).toBe(200)
      for (const odd of withOddPlaces(request).slice(1)) expectNoMistake(await stage.ask(client, upstream, odd), odd)
    })

    test('wherever it stands in a whole answer', async () => {
      const ask = (body: JsonBody) => stage.ask(client, upstream, {}, { answer: () => Response.json(body) })
      expect((await ask(BODIES[upstream])).status).toBe(200)
      for (const odd of withOddPlaces(BODIES[upstream])) expectNoMistake(await ask(odd), odd)
    })

    test('wherever it stands in an error', async () => {
      for (const status of [400, 401, 429, 500]) {
        for (const odd of withOddPlaces(ERROR)) {
          const played = await stage.ask(client, upstream, {}, { answer: () => Response.json(odd, { status }) })
          expectNoMistake(played, odd)
          expect(played.status).toBeGreaterThanOrEqual(400)
        }
      }
    })

    test('wherever it stands in a streamed answer', async () => {
      const ask = (frames: readonly JsonBody[]) =>
        stage.ask(client, upstream, { stream: true }, { answer: asStream(frames) })
      expect((await ask(STREAMS[upstream])).text).not.toContain('"error"')
      for (const odd of oddStreams(STREAMS[upstream])) expectNoMistake(await ask(odd), odd)
    })
  })
}
