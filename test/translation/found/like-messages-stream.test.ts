import { describe, expect, test } from 'bun:test'
import { faultsInMessages } from '../../pairs/grammar.ts'
import { eventStream, VENDOR_MODEL } from '../../support/upstream.ts'
import { messagesFrame, openingFrames, vendorBody, vendorFrames } from '../../support/vendor.ts'
import { PROTOCOLS } from '../../support/wire.ts'
import { text, useKinds } from '../rules/stage.ts'

/** Streams of messages upstreams that are not as they should be. */

const stage = useKinds({ messages: { protocol: 'messages' } })

const streamed = (frames: readonly string[]) => () => eventStream(frames)
const ending = (stop_reason: string) =>
  messagesFrame('message_delta', { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } })
const STOP = messagesFrame('message_stop')

describe('a reason that only the vendor knows survives', () => {
  for (const reason of ['pause_turn', 'compaction', 'model_context_window_exceeded', 'some_novelty']) {
    test(`${reason}, whole and streamed`, async () => {
      const body = { ...vendorBody('messages'), stop_reason: reason }
      const whole = await stage.ask('messages', 'messages', {}, { answer: () => Response.json(body) })
      expect(whole.body.stop_reason).toBe(reason)
      const frames = [...openingFrames('messages'), messagesFrame('content_block_stop', { index: 0 }), ending(reason)]
      const message = await stage.official('messages', 'messages', { stream: true }, streamed([...frames, STOP]))
      expect(message).toMatchObject({ content: [text('Good morning')], stop_reason: reason })
    })
  }
})

test('a block that the upstream never closed is closed', async () => {
  const frames = [...openingFrames('messages'), ending('end_turn'), STOP]
  const { text: stream } = await stage.ask('messages', 'messages', { stream: true }, { answer: streamed(frames) })
  expect(faultsInMessages(stream)).toEqual([])
  expect(stream).toContain('event: content_block_stop')
})

for (const client of PROTOCOLS) {
  test(`a stream that is nothing but its end is an error: to a ${client} client`, async () => {
    const played = await stage.ask(client, 'messages', { stream: true }, { answer: streamed([STOP]) })
    expect({ status: played.status, code: played.body?.error?.code }).toEqual({ status: 502, code: 'upstream_error' })
  })
}

test('payloads without a type get it from the name of their event', async () => {
  const untyped = vendorFrames('messages').map(frame => frame.replace(/\{"type":"\w+",?/, '{'))
  expect(untyped.join('')).not.toContain('"type":"message_stop"')
  const played = await stage.ask('messages', 'messages', { stream: true }, { answer: streamed(untyped) })
  expect(faultsInMessages(played.text)).toEqual([])
  const message = await stage.official('messages', 'messages', { stream: true }, streamed(untyped))
  expect(message).toMatchObject({ content: [text('Good morning')], stop_reason: 'end_turn' })
  expect(played.text).not.toContain(VENDOR_MODEL)
})
