import { describe, expect, test } from 'bun:test'
import type { JsonBody } from '../../support/duet.ts'
import { eventStream } from '../../support/upstream.ts'
import { chatFrame, messagesFrame, vendorBody, vendorFrames } from '../../support/vendor.ts'
import { call, chatFolded, type Script, use, useKinds } from '../rules/stage.ts'
import { DONE } from './chunks.ts'

/** Calls in answers that cross from one protocol to the other, whole and streamed alike. */

const stage = useKinds({ chat: { protocol: 'chat' }, messages: { protocol: 'messages' } })

/** A chat upstream that makes these calls, in whichever way it is asked. */
const chatCalling = (...made: readonly object[]): Script => {
  const message = { role: 'assistant', content: null, tool_calls: made }
  const body = { ...vendorBody('chat'), choices: [{ index: 0, message, finish_reason: 'tool_calls' }] }
  const fragments = made.map((one, index) => chatFrame({ delta: { tool_calls: [{ index, ...one }] } }))
  const frames = [
    chatFrame({ delta: { role: 'assistant', content: null } }),
    ...fragments,
    chatFrame({ delta: {}, finish_reason: 'tool_calls' }),
    DONE,
  ]
  return visit => (visit.body.stream ? eventStream(frames) : Response.json(body))
}

/** The same of a messages upstream. */
const messagesCalling = (...made: readonly JsonBody[]): Script => {
  const body = { ...vendorBody('messages'), content: made, stop_reason: 'tool_use' }
  const blocks = made.flatMap((block, index) => [
    messagesFrame('content_block_start', { index, content_block: { ...block, input: {} } }),
    messagesFrame('content_block_delta', {
      ...{ index, delta: { type: 'input_json_delta', partial_json: JSON.stringify(block.input) } },
    }),
    messagesFrame('content_block_stop', { index }),
  ])
  const frames = [
    ...vendorFrames('messages').slice(0, 1),
    ...blocks,
    messagesFrame('message_delta', { delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 5 } }),
    messagesFrame('message_stop'),
  ]
  return visit => (visit.body.stream ? eventStream(frames) : Response.json(body))
}

test('who knows one call only gets the first of two, whole and streamed', async () => {
  const answer = messagesCalling(use('t1', 'f', { a: 1 }), use('t2', 'g', { b: 2 }))
  const fields = { functions: [{ name: 'f' }, { name: 'g' }] }
  const whole = await stage.ask('chat', 'messages', fields, { answer })
  const streamed = chatFolded((await stage.ask('chat', 'messages', { ...fields, stream: true }, { answer })).frames)
  const [{ message, finish_reason }] = whole.body.choices
  expect(message.function_call).toEqual({ name: 'f', arguments: '{"a":1}' })
  expect(streamed.functionCall).toEqual(message.function_call)
  expect([finish_reason, streamed.finish]).toEqual(['function_call', 'function_call'])
  expect({ whole: message.tool_calls, streamed: streamed.calls }).toEqual({ whole: undefined, streamed: [] })
})

describe('two calls under one id get different ones', () => {
  for (const stream of [false, true]) {
    const way = stream ? 'streamed' : 'whole'

    test(`messages client, ${way}`, async () => {
      const answer = chatCalling(call('same', 'f', '{"a":1}'), call('same', 'g', '{"b":2}'))
      const { content } = await stage.official('messages', 'chat', { stream }, answer)
      expect(content).toMatchObject([
        { name: 'f', input: { a: 1 } },
        { name: 'g', input: { b: 2 } },
      ])
      expect(new Set(content.map(({ id }: JsonBody) => id)).size).toBe(2)
    })

    test(`chat client, ${way}`, async () => {
      const answer = messagesCalling(use('same', 'f', { a: 1 }), use('same', 'g', { b: 2 }))
      const { choices } = await stage.official('chat', 'messages', { stream }, answer)
      const made = choices[0].message.tool_calls
      expect(made.map((one: JsonBody) => one.function.name)).toEqual(['f', 'g'])
      expect(new Set(made.map(({ id }: JsonBody) => id)).size).toBe(2)
    })
  }
})

describe('an input is an object, whatever the arguments are', () => {
  for (const [made, wanted] of [
    ['null', {}],
    ['[1]', { raw_arguments: '[1]' }],
    ['"x"', { raw_arguments: '"x"' }],
  ] as const) {
    test(`${made}, whole and streamed`, async () => {
      const answer = chatCalling(call('c1', 'f', made))
      const whole = await stage.official('messages', 'chat', {}, answer)
      const streamed = await stage.official('messages', 'chat', { stream: true }, answer)
      expect(whole.content).toMatchObject([use('c1', 'f', wanted)])
      expect(streamed.content).toMatchObject([use('c1', 'f', wanted)])
    })
  }
})
