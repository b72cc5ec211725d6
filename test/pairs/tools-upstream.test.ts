import { describe, expect } from 'bun:test'
import type { JsonBody } from '../support/duet.ts'
import { framesOf, post } from '../support/http.ts'
import {
  ask,
  CHAT_CLIENTS,
  eachPair,
  eachWay,
  type Line,
  MESSAGES_CLIENTS,
  PATHS,
  type Pair,
  type Question,
  useScript,
} from './pairs.ts'
import { PLAIN_USAGE, type Said, saying } from './wire.ts'

const stage = useScript()

/** A parser would round the number and sort the keys. */
const EXACT = '{"n":12345678901234567890,"2":1,"1":2}'
const TOOL = {
  name: 'count',
  description: 'Counts',
  schema: { type: 'object', properties: { n: { type: 'integer' } } },
}
const OTHER = { ...TOOL, name: 'measure' }
const START: Line = { user: 'Count, please.' }

const DONE: Said = { text: 'Done.', finish: 'stop', usage: PLAIN_USAGE }
const CALLS: Said = {
  calls: [{ id: 'call_1', name: 'count', arguments: EXACT }],
  finish: 'tool_calls',
  usage: PLAIN_USAGE,
}

/** The calls and results of the history that reached the upstream, in words of neither protocol. */
function historyOf({ upstream }: Pair): { calls: JsonBody[]; results: JsonBody[] } {
  const { messages } = stage.visit.body
  if (upstream === 'chat') {
    return {
      calls: messages.flatMap(({ tool_calls = [] }: JsonBody) =>
        tool_calls.map(({ id, function: called }: JsonBody) => ({ id, name: called.name, json: called.arguments })),
      ),
      results: messages
        .filter(({ role }: JsonBody) => role === 'tool')
        .map(({ tool_call_id, content }: JsonBody) => ({ id: tool_call_id, text: content })),
    }
  }
  const blocks = messages.flatMap(({ content }: JsonBody) => (Array.isArray(content) ? content : []))
  return {
    calls: blocks
      .filter(({ type }: JsonBody) => type === 'tool_use')
      .map(({ id, name, input }: JsonBody) => ({ id, name, json: JSON.stringify(input) })),
    results: blocks
      .filter(({ type }: JsonBody) => type === 'tool_result')
      .map(({ tool_use_id, content }: JsonBody) => ({ id: tool_use_id, text: textOf(content) })),
  }
}

function textOf(content: JsonBody): string {
  return typeof content === 'string' ? content : (content ?? []).map(({ text }: JsonBody) => text).join('')
}

/** A body with the exact arguments in its history; JavaScript could not write them as numbers. */
function exactHistory({ client, upstream }: Pair): string {
  const json = client === 'chat' ? JSON.stringify(EXACT) : EXACT
  const call =
    client === 'chat'
      ? '{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"count","arguments":@}}]}'
      : '{"role":"assistant","content":[{"type":"tool_use","id":"call_1","name":"count","input":@}]}'
  const result =
    client === 'chat'
      ? '{"role":"tool","tool_call_id":"call_1","content":"ok"}'
      : '{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":"ok"}]}'
  const tools =
    client === 'chat'
      ? '[{"type":"function","function":{"name":"count","parameters":{"type":"object"}}}]'
      : '[{"name":"count","input_schema":{"type":"object"}}]'
  const messages = `[{"role":"user","content":"Count"},${call.replace('@', () => json)},${result}]`
  return `{"model":"${stage.model(upstream)}","max_tokens":100,"tools":${tools},"messages":${messages}}`
}

describe('arguments in the history', () => {
  eachPair('big integers and the order of keys reach the upstream as they were written', async pair => {
    stage.answer = saying(DONE)
    const { status } = await post(stage.duet, PATHS[pair.client], exactHistory(pair))
    expect(status).toBe(200)
    if (pair.upstream === 'messages') expect(stage.visit.text).toContain(`"input":${EXACT}`)
    else expect(historyOf(pair).calls).toEqual([{ id: 'call_1', name: 'count', json: EXACT }])
  })

  eachPair('calls, results and the text beside them arrive in order', async pair => {
    stage.answer = saying(DONE)
    const calls = [
      { id: 'call_1', name: 'count', arguments: '{"n":1}' },
      { id: 'call_2', name: 'measure', arguments: '{"n":2}' },
    ]
    const results = [
      { id: 'call_1', text: 'first' },
      { id: 'call_2', text: 'second' },
    ]
    const messages = [START, { assistant: 'Both at once.', calls }, { results }]
    await ask(stage, pair, { messages, tools: [TOOL, OTHER] })
    expect(historyOf(pair)).toEqual({
      calls: [
        { id: 'call_1', name: 'count', json: '{"n":1}' },
        { id: 'call_2', name: 'measure', json: '{"n":2}' },
      ],
      results,
    })
    expect(stage.visit.text).toContain('Both at once.')
  })

  eachPair(
    'an id that the other protocol forbids is changed alike in the call and in its result',
    async pair => {
      stage.answer = saying(DONE)
      const calls = [{ id: 'functions.count:0', name: 'count', arguments: '{}' }]
      const results = [{ id: 'functions.count:0', text: 'one' }]
      await ask(stage, pair, { messages: [START, { assistant: '', calls }, { results }], tools: [TOOL] })
      const history = historyOf(pair)
      expect(history.calls[0].id).toMatch(/^[A-Za-z0-9_-]+$/)
      expect(history.results[0].id).toBe(history.calls[0].id)
    },
    [{ client: 'chat', upstream: 'messages' }],
  )

  for (const { json, input } of [
    { json: '', input: {} },
    { json: '{"n": 1', input: { raw_arguments: '{"n": 1' } },
    { json: '[1]', input: { raw_arguments: '[1]' } },
  ]) {
    eachPair(
      `arguments ${json === '' ? 'that are empty' : json} do not end the conversation`,
      async pair => {
        stage.answer = saying(DONE)
        const calls = [{ id: 'call_1', name: 'count', arguments: json }]
        const messages = [START, { assistant: '', calls }, { results: [{ id: 'call_1', text: 'bad arguments' }] }]
        expect((await ask(stage, pair, { messages, tools: [TOOL] })).text).toBe('Done.')
        expect(JSON.parse(historyOf(pair).calls[0].json)).toEqual(input)
      },
      [{ client: 'chat', upstream: 'messages' }],
    )
  }
})

describe('arguments in the answer', () => {
  eachWay(
    'big integers and the order of keys reach the chat client as they were written',
    async (pair, stream) => {
      stage.answer = saying(CALLS)
      const { toolCalls, finish } = await ask(stage, pair, { messages: [START], tools: [TOOL], stream })
      expect(toolCalls).toEqual([{ id: 'call_1', name: 'count', arguments: EXACT }])
      expect(finish).toBe('tool_calls')
    },
    CHAT_CLIENTS,
  )

  eachPair(
    'big integers and the order of keys stand in the body of the messages client as they were written',
    async pair => {
      stage.answer = saying(CALLS)
      const { text } = await post(stage.duet, PATHS.messages, messagesBody(pair, false))
      expect(text).toContain(EXACT)
    },
    MESSAGES_CLIENTS,
  )

  eachPair(
    'big integers and the order of keys stand in the stream of the messages client as they were written',
    async pair => {
      stage.answer = saying(CALLS)
      const { text } = await post(stage.duet, PATHS.messages, messagesBody(pair, true))
      const pieces = framesOf(text).map(({ json }) => json.delta?.partial_json ?? '')
      expect(pieces.join('')).toBe(EXACT)
    },
    MESSAGES_CLIENTS,
  )

  eachWay('a call without arguments is a call with an empty object', async (pair, stream) => {
    const calls = [{ id: 'call_1', name: 'count', arguments: stream ? '' : '{}' }]
    stage.answer = saying({ calls, finish: 'tool_calls', usage: PLAIN_USAGE })
    const { toolCalls } = await ask(stage, pair, { messages: [START], tools: [TOOL], stream })
    // Spec 2.6: the arguments are a JSON document, and an empty text is none.
    expect(toolCalls).toEqual([{ id: 'call_1', name: 'count', arguments: '{}' }])
  })

  eachWay('an answer that says stop and calls a tool is one that calls a tool', async (pair, stream) => {
    stage.answer = saying({ ...CALLS, finish: 'stop' })
    const { toolCalls, finish } = await ask(stage, pair, { messages: [START], tools: [TOOL], stream })
    expect(toolCalls).toHaveLength(1)
    // Spec 4.1 rule 1 and 4.2 rule 1 hold for every answer, wherever it comes from.
    expect(finish).toBe('tool_calls')
  })
})

describe('tool_choice as the upstream sees it', () => {
  const named = { name: 'count' }
  const rows: readonly { question: Partial<Question>; chat: JsonBody; messages: JsonBody }[] = [
    { question: { toolChoice: 'auto' }, chat: 'auto', messages: { type: 'auto' } },
    { question: { toolChoice: 'none' }, chat: 'none', messages: { type: 'none' } },
    { question: { toolChoice: 'any' }, chat: 'required', messages: { type: 'any' } },
    {
      question: { toolChoice: named },
      chat: { type: 'function', function: named },
      messages: { type: 'tool', ...named },
    },
  ]
  for (const { question, ...expected } of rows) {
    eachPair(JSON.stringify(question.toolChoice), async pair => {
      stage.answer = saying(DONE)
      await ask(stage, pair, { messages: [START], tools: [TOOL, OTHER], ...question })
      expect(stage.visit.body.tool_choice).toEqual(expected[pair.upstream])
    })
  }

  eachPair('parallel calls off', async pair => {
    stage.answer = saying(DONE)
    for (const toolChoice of ['auto', 'any', named] as const) {
      await ask(stage, pair, { messages: [START], tools: [TOOL, OTHER], toolChoice, parallel: false })
      const { tool_choice, parallel_tool_calls } = stage.visit.body
      if (pair.upstream === 'chat') expect(parallel_tool_calls).toBe(false)
      else expect(tool_choice.disable_parallel_tool_use).toBe(true)
    }
  })

  eachPair('parallel calls off and no choice', async pair => {
    stage.answer = saying(DONE)
    await ask(stage, pair, { messages: [START], tools: [TOOL, OTHER], parallel: false })
    const { tool_choice, parallel_tool_calls } = stage.visit.body
    if (pair.upstream === 'chat') expect(parallel_tool_calls).toBe(false)
    else expect(tool_choice).toEqual({ type: 'auto', disable_parallel_tool_use: true })
  })

  eachPair(
    'only some tools allowed',
    async pair => {
      stage.answer = saying(DONE)
      const tools = [{ type: 'function', function: { name: 'measure' } }]
      const tool_choice = { type: 'allowed_tools', allowed_tools: { mode: 'required', tools } }
      await ask(stage, pair, { messages: [START], tools: [TOOL, OTHER], more: { tool_choice } })
      if (pair.upstream === 'chat') expect(stage.visit.body.tool_choice).toEqual(tool_choice)
      else {
        expect(stage.visit.body.tools.map(({ name }: JsonBody) => name)).toEqual(['measure'])
        expect(stage.visit.body.tool_choice).toEqual({ type: 'any' })
      }
    },
    CHAT_CLIENTS,
  )

  eachPair('the tools themselves', async pair => {
    stage.answer = saying(DONE)
    await ask(stage, pair, { messages: [START], tools: [TOOL] })
    const expected =
      pair.upstream === 'chat'
        ? [{ type: 'function', function: { name: 'count', description: 'Counts', parameters: TOOL.schema } }]
        : [{ name: 'count', description: 'Counts', input_schema: TOOL.schema }]
    expect(stage.visit.body.tools).toEqual(expected)
  })
})

function messagesBody({ upstream }: Pair, stream: boolean): JsonBody {
  const tools = [{ name: 'count', input_schema: TOOL.schema }]
  const messages = [{ role: 'user', content: 'Count, please.' }]
  return { model: stage.model(upstream), max_tokens: 100, tools, messages, stream }
}
