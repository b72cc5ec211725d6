import { describe, expect, test } from 'bun:test'
import { chatClient } from '../../pairs/pairs.ts'
import { type Said, saying } from '../../pairs/wire.ts'
import type { JsonBody } from '../../support/duet.ts'
import { expectWithout, fn, idOfKind, type Script, useKinds } from './stage.ts'

/** Section 1.5, answers: what the official client reads where an answer in JSON was asked for. */

const stage = useKinds({
  emulated: { protocol: 'messages' },
  thinking: { protocol: 'messages', model: { reasoning: true, max_output_tokens: 20_000 } },
  native: { protocol: 'messages', capabilities: { structured_output: true } },
  chat: { protocol: 'chat' },
  words: { protocol: 'chat', capabilities: { structured_output: false, json_object: false } },
})

type KindName = Parameters<typeof stage.ask>[1]

const SCHEMA = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
const FORMATS = {
  json_schema: { type: 'json_schema', json_schema: { name: 'r', schema: SCHEMA } },
  json_object: { type: 'json_object' },
} as const
const THINKING = { reasoning_effort: 'medium', max_tokens: 10_000 }

/** Calls the tool that takes the answer, by whatever name it goes. */
const callingWith =
  (json: string, said: Partial<Said> = {}): Script =>
  visit => {
    const { name } = visit.body.tool_choice
    return saying({
      finish: 'tool_calls',
      ...said,
      calls: [...(said.calls ?? []), { id: 'so1', name, arguments: json }],
    })(visit)
  }
const writing = (text: string, more: Partial<Said> = {}) => saying({ text, finish: 'stop', ...more })

async function choiceOf(kind: KindName, fields: object, answer: Script): Promise<JsonBody> {
  const completion = await stage.official('chat', kind, fields, answer)
  return completion.choices[0]
}

function expectObject({ message, finish_reason }: JsonBody, wanted: JsonBody): void {
  expect(JSON.parse(message.content)).toEqual(wanted)
  expect(finish_reason).toBe('stop')
  expect(message.tool_calls ?? []).toEqual([])
}

for (const stream of [false, true]) {
  describe(stream ? 'streamed' : 'whole', () => {
    for (const [type, response_format] of Object.entries(FORMATS)) {
      test(`${type}: what the tool was called with is the content`, async () => {
        expectObject(await choiceOf('emulated', { response_format, stream }, callingWith('{"n":1,"m":{"x":"}"}}')), {
          n: 1,
          m: { x: '}' },
        })
      })

      test(`${type}: a call with nothing is an empty object`, async () => {
        expectObject(await choiceOf('emulated', { response_format, stream }, callingWith(stream ? '' : '{}')), {})
      })

      test(`${type}: text around the call is not part of it`, async () => {
        const answer = callingWith('{"n":1}', { text: 'Here it is:' })
        expectObject(await choiceOf('emulated', { response_format, stream }, answer), { n: 1 })
      })

      test(`${type}: the text of the object is exact`, async () => {
        const json = '{"n":12345678901234567890,"10":1,"2":2}'
        expect((await choiceOf('emulated', { response_format, stream }, callingWith(json))).message.content).toBe(json)
      })

      test(`${type}: a model that writes it after all is understood`, async () => {
        const answer = writing('Sure!\n```json\n{"n": 1}\n```\nAnything else?')
        expectObject(await choiceOf('emulated', { response_format, stream }, answer), { n: 1 })
      })

      test(`${type}: a cut says so`, async () => {
        const choice = await choiceOf(
          'emulated',
          { response_format, stream },
          callingWith('{"n":1}', { finish: 'length' }),
        ).catch((error: Error) => error)
        // The client's stream helper throws at a cut schema; only the reason is asked for here.
        if (choice instanceof Error) expect(choice.constructor.name).toBe('LengthFinishReasonError')
        else expect(choice.finish_reason).toBe('length')
      })
    }

    const WRAPPED: Readonly<Record<string, readonly [string, JsonBody]>> = {
      bare: ['{"n":1}', { n: 1 }],
      'in a fence': ['```json\n{"n":1}\n```', { n: 1 }],
      'in a fence without a name': ['```\n{"n":1}\n```', { n: 1 }],
      'behind words': ['Here is the object:\n{"n":1}', { n: 1 }],
      'before words': ['{"n":1}\n\nI hope this helps {really}!', { n: 1 }],
      'between words and fences': [
        'Well.\n```json\n{"a":{"b":[1,"}"]},"s":"```"}\n```\nDone.',
        { a: { b: [1, '}'] }, s: '```' },
      ],
      'with braces and quotes in it': ['{"a":"\\"}{\\\\","b":{}}', { a: '"}{\\', b: {} }],
      'spread over lines': ['\n\n{\n  "n": 1\n}\n', { n: 1 }],
      missing: ['I cannot do that.', { answer: 'I cannot do that.' }],
    }
    const response_format = FORMATS.json_object
    for (const [how, [said, wanted]] of Object.entries(WRAPPED)) {
      test(`an object asked for in words, ${how}`, async () => {
        expectObject(await choiceOf('emulated', { response_format, tools: [fn('f')], stream }, writing(said)), wanted)
        const thought = await choiceOf(
          'thinking',
          { response_format, ...THINKING, stream },
          writing(said, { reasoning: 'hm {' }),
        )
        expectObject(thought, wanted)
      })
    }

    const UNTIDY = ['Use {braces}: {"n":1}', "{'n':1}", '{"n":1,}', '{"a":"x\ny"}', '{"n":1', '']
    for (const said of UNTIDY) {
      test(`an object asked for in words parses though the model wrote ${JSON.stringify(said)}`, async () => {
        const { message } = await choiceOf('emulated', { response_format, tools: [fn('f')], stream }, writing(said))
        expect(message.content).toBeString()
        expect(JSON.parse(message.content)).toBeObject()
      })
    }

    for (const kind of ['chat', 'words'] as const) {
      test(`an object from a chat upstream (${kind}) parses, whatever is around it`, async () => {
        for (const [said, wanted] of Object.values(WRAPPED)) {
          expectObject(await choiceOf(kind, { response_format, stream }, writing(said)), wanted)
        }
      })
    }

    test('a tool of the caller’s that is called instead is seen, and nothing else', async () => {
      const calls = [{ id: 'c1', name: 'f', arguments: '{"a":1}' }]
      for (const format of Object.values(FORMATS)) {
        const answer = saying({ text: 'Let me see.', calls, finish: 'tool_calls' })
        const { message, finish_reason } = await choiceOf(
          'emulated',
          { response_format: format, tools: [fn('f')], stream },
          answer,
        )
        expect(finish_reason).toBe('tool_calls')
        expect(message.tool_calls).toMatchObject([{ id: 'c1', function: { name: 'f', arguments: '{"a":1}' } }])
      }
    })

    test('a tool of the caller’s beside the answer is seen, the other is not', async () => {
      const format = FORMATS.json_schema
      const answer: Script = visit => {
        const name = visit.body.tools.map((tool: JsonBody) => tool.name).find((each: string) => each !== 'f')
        const calls = [
          { id: 'c0', name, arguments: '{"n":1}' },
          { id: 'c1', name: 'f', arguments: '{}' },
        ]
        return saying({ calls, finish: 'tool_calls' })(visit)
      }
      const { message } = await choiceOf('emulated', { response_format: format, tools: [fn('f')], stream }, answer)
      expect(message.tool_calls.map((call: JsonBody) => call.function.name)).toEqual(['f'])
      expect(JSON.parse(message.content)).toEqual({ n: 1 })
    })

    test('an answer of an upstream that knows schemas passes as it is', async () => {
      expectObject(await choiceOf('native', { response_format: FORMATS.json_schema, stream }, writing('{"n":1}')), {
        n: 1,
      })
    })

    test('thoughts stay out of the object', async () => {
      for (const format of Object.values(FORMATS)) {
        const answer = writing('{"n":1}', { reasoning: 'The schema wants {"n":2}.' })
        expectObject(await choiceOf('thinking', { response_format: format, ...THINKING, stream }, answer), { n: 1 })
      }
    })
  })
}

test('the official client parses the answer by itself', async () => {
  for (const answer of [callingWith('{"n":1}'), writing('```json\n{"n":1}\n```')]) {
    await stage.ask(
      'chat',
      'emulated',
      {},
      { answer: visit => (visit.body.tool_choice ? answer(visit) : writing('.')(visit)) },
    )
    const { choices } = await chatClient(stage).chat.completions.parse({
      model: idOfKind('emulated'),
      messages: [{ role: 'user', content: 'q' }],
      response_format: FORMATS.json_schema,
    })
    expect(choices[0]?.message.parsed as unknown).toEqual({ n: 1 })
  }
})

test('a streamed object comes as it is written, not at its end', async () => {
  const { frames } = await stage.ask(
    'chat',
    'emulated',
    { response_format: FORMATS.json_schema, stream: true },
    { answer: callingWith('{"n":1,"text":"one two three four five six"}') },
  )
  const pieces = frames.map(({ json }) => json?.choices?.[0]?.delta?.content).filter(Boolean)
  expect(pieces.length).toBeGreaterThan(1)
  for (const { json } of frames) expectWithout(json?.choices?.[0]?.delta ?? {}, 'tool_calls')
})
