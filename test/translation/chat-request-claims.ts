import { expect } from 'bun:test'
import type { JsonBody } from '../support/duet.ts'
import type { Claims } from './claims.ts'
import { asking, callingBack, deltasOf, finishesOf, sentOf, streamingBack } from './requests.ts'

/** All blocks of one type in a messages request. */
const blocksOf = (type: string, { messages }: JsonBody): readonly JsonBody[] =>
  messages.flatMap(({ content }: JsonBody) =>
    Array.isArray(content) ? content.filter(block => block.type === type) : [],
  )

const callWithResult = (made: string) => [
  { role: 'user', content: 'q' },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: made } }],
  },
  { role: 'tool', tool_call_id: 'c1', content: 'r' },
]

/** What a chat client says, and what a messages upstream is told: conversations and tools. */
export const CHAT_REQUEST_CLAIMS: Claims = {
  'RA-05': {
    'before assistant': async (scene, stage) => {
      const messages = [
        { role: 'user', content: 'q1' },
        { role: 'system', content: 'Use metric units.' },
        { role: 'assistant', content: 'a1' },
        { role: 'user', content: 'q2' },
      ]
      const sent = await sentOf(stage, asking(scene, { messages }))
      expect(sent.messages.map(({ role }: JsonBody) => role)).toEqual(['user', 'system', 'assistant', 'user'])
      expect(sent.messages[1].content).toBe('Use metric units.')
    },
    'legal placement': async (scene, stage) => {
      const messages = [
        { role: 'user', content: 'q1' },
        { role: 'assistant', content: 'a1' },
        { role: 'system', content: 'Use metric units.' },
        { role: 'user', content: 'q2' },
      ]
      const sent = await sentOf(stage, asking(scene, { messages }))
      expect(sent.messages.map(({ role }: JsonBody) => role)).toEqual(['user', 'assistant', 'user'])
      expect(JSON.stringify(sent.messages[2])).toContain('Use metric units.')
    },
  },
  'RA-08': {
    'messages.length == 1': async (scene, stage) => {
      expect((await sentOf(stage, scene)).messages).toHaveLength(1)
    },
  },
  'RA-14': {
    null: async (scene, stage) => {
      const sent = await sentOf(stage, asking(scene, { messages: callWithResult('{"a":1}') }))
      expect(sent.messages[1].content).toEqual([{ type: 'tool_use', id: 'c1', name: 'f', input: { a: 1 } }])
    },
  },
  'RA-17': {
    'input is an object (never a string)': async (scene, stage) => {
      const [call] = blocksOf('tool_use', await sentOf(stage, scene))
      expect(call.input).toBeObject()
      // The title: the raw text is preserved in it.
      expect(Object.values(call.input)).toContain('{"a": tru')
    },
    'status is not 500': async (scene, stage) => {
      expect((await stage.play(scene)).status).toBe(200)
    },
  },
  'RA-18': {
    number: async (scene, stage) => {
      const [call] = blocksOf('tool_use', await sentOf(stage, asking(scene, { messages: callWithResult('7') })))
      expect(call.input).toBeObject()
    },
  },
  'RA-24': {
    'tool_result is not dropped': async (scene, stage) => {
      const results = blocksOf('tool_result', await sentOf(stage, scene))
      expect(results.map(result => result.tool_use_id)).toEqual(['a'])
    },
    'no {"type":"text","text":""} inside it': async (scene, stage) => {
      const [result] = blocksOf('tool_result', await sentOf(stage, scene))
      expect(JSON.stringify(result)).not.toContain('"text":""')
    },
  },
  'RA-25': {
    'no tool_result block': async (scene, stage) => {
      expect(blocksOf('tool_result', await sentOf(stage, scene))).toEqual([])
    },
  },
  'RA-29': {
    'assistant has one tool_use, following user message has the tool_result with the same id': async (scene, stage) => {
      const { messages } = await sentOf(stage, scene)
      expect(messages.map(({ role }: JsonBody) => role)).toEqual(['user', 'assistant', 'user'])
      expect(messages[1].content).toEqual([
        { type: 'tool_use', id: expect.stringMatching(/^[A-Za-z0-9_-]+$/), name: 'get_w', input: { c: 'x' } },
      ])
      const [{ id }] = blocksOf('tool_use', { messages })
      expect(messages[2].content).toEqual([{ type: 'tool_result', tool_use_id: id, content: 'sunny' }])
    },
    'response uses message.function_call and finish_reason "function_call"': async (scene, stage) => {
      const { body } = await stage.play({ ...scene, answer: callingBack('toolu_1', '{"c":"y"}') })
      const [{ message, finish_reason }] = body.choices
      expect(message.function_call).toEqual({ name: 'get_w', arguments: '{"c":"y"}' })
      expect(message).not.toHaveProperty('tool_calls')
      expect(finish_reason).toBe('function_call')

      const streamed = { ...asking(scene, { stream: true }), answer: streamingBack('toolu_1', ['{"c":', '"y"}']) }
      const { text } = await stage.play(streamed)
      const calls = deltasOf(text).flatMap(({ function_call }) => function_call ?? [])
      expect(calls.map(({ name }) => name ?? '').join('')).toBe('get_w')
      expect(calls.map(call => call.arguments ?? '').join('')).toBe('{"c":"y"}')
      expect(text).not.toContain('tool_calls')
      expect(finishesOf(text)).toEqual(['function_call'])
    },
  },
  'RA-33': {
    'with tool_choice none the flag is not sent': async (scene, stage) => {
      const sent = await sentOf(stage, asking(scene, { tool_choice: 'none' }))
      expect(sent.tool_choice).toEqual({ type: 'none' })
    },
    'with parallel_tool_calls true nothing is sent': async (scene, stage) => {
      const sent = await sentOf(stage, asking(scene, { parallel_tool_calls: true }))
      expect(sent.tools).toHaveLength(1)
      expect(sent).not.toHaveProperty('tool_choice')
    },
  },
  'RA-35': {
    'tools contains an entry named "f" (or a dummy tool)': async (scene, stage) => {
      const { tools } = await sentOf(stage, scene)
      expect(tools).toHaveLength(1)
      expect(tools[0]).toMatchObject({ name: expect.any(String), input_schema: { type: 'object' } })
    },
    'tool_choice not forced': async (scene, stage) => {
      expect(['auto', 'none', undefined]).toContain((await sentOf(stage, scene)).tool_choice?.type)
    },
  },
}
