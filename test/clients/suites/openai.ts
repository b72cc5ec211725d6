import assert from 'node:assert/strict'
import { test } from 'node:test'
import OpenAI from 'openai'
import { zodFunction, zodResponseFormat } from 'openai/helpers/zod'
import { modelOf, PROTOCOLS, type Protocol, seesClientGone, thinkingModelOf } from '../stage/duet.ts'
import { eachUpstream, useSandbox } from '../stage/stage.ts'
import {
  CITY,
  type City,
  forecast,
  HELLO,
  HELLO_ANSWER,
  QUESTION,
  QUESTION_ANSWER,
  REPORT,
  TOOL,
} from '../stage/talk.ts'

const stage = useSandbox()

const client = () => new OpenAI({ baseURL: stage.duet.base, apiKey: stage.duet.key, maxRetries: 0 })
const ask = (upstream: Protocol, content: string) => ({
  model: modelOf(upstream),
  messages: [{ role: 'user' as const, content }],
})

eachUpstream('openai: create returns a text with its usage', async upstream => {
  const { model, choices, usage } = await client().chat.completions.create(ask(upstream, HELLO))
  assert.equal(model, modelOf(upstream))
  assert.equal(choices.length, 1)
  assert.equal(choices[0]?.message.content, HELLO_ANSWER)
  assert.equal(choices[0]?.finish_reason, 'stop')
  assert.ok(usage && usage.prompt_tokens > 0 && usage.completion_tokens > 0)
  assert.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens)
})

eachUpstream('openai: the stream helper puts the same answer together', async upstream => {
  const whole = await client().chat.completions.create(ask(upstream, HELLO))
  const stream = client().chat.completions.stream({
    ...ask(upstream, HELLO),
    stream_options: { include_usage: true },
  })
  const deltas: string[] = []
  stream.on('content', delta => deltas.push(delta))
  const final = await stream.finalChatCompletion()
  assert.ok(deltas.length > 5)
  assert.equal(deltas.join(''), HELLO_ANSWER)
  assert.equal(final.choices[0]?.message.content, HELLO_ANSWER)
  assert.equal(final.choices[0]?.finish_reason, 'stop')
  assert.deepEqual(final.usage, whole.usage)
})

for (const stream of [false, true]) {
  for (const model of [modelOf, thinkingModelOf]) {
    const title = `${stream ? 'streamed' : 'whole'}${model === thinkingModelOf ? ', with a model that reasons' : ''}`
    eachUpstream(`openai: runTools completes a round trip, ${title}`, async upstream => {
      const calls: City[] = []
      const tool = zodFunction({
        ...TOOL,
        parameters: CITY,
        function(city: City) {
          calls.push(city)
          return forecast(city)
        },
      })
      const request = { ...ask(upstream, QUESTION), model: model(upstream), tools: [tool] }
      const runner = stream
        ? client().chat.completions.runTools({ ...request, stream })
        : client().chat.completions.runTools(request)
      assert.match((await runner.finalContent()) ?? '', QUESTION_ANSWER)
      assert.deepEqual(calls, [{ city: 'Paris' }])
      assert.deepEqual(
        runner.messages.map(({ role }) => role),
        ['user', 'assistant', 'tool', 'assistant'],
      )
    })
  }
}

eachUpstream('openai: parse returns an object of the schema', async upstream => {
  const { choices } = await client().chat.completions.parse({
    ...ask(upstream, QUESTION),
    response_format: zodResponseFormat(REPORT, 'report'),
  })
  assert.ok(choices[0]?.message.parsed)
  assert.equal(choices[0].message.parsed.city, 'Paris')
})

eachUpstream('openai: a model that reasons shows its reasoning and counts it', async upstream => {
  const { choices, usage } = await client().chat.completions.create({
    ...ask(upstream, HELLO),
    model: thinkingModelOf(upstream),
  })
  const message = choices[0]?.message
  assert.match(message?.content ?? '', /You said: "Hello"/)
  assert.ok(message && 'reasoning_content' in message)
  assert.match(String(message.reasoning_content), /The user wrote "Hello"/)
  assert.ok((usage?.completion_tokens ?? 0) > 200)
})

eachUpstream('openai: an aborted stream ends at once, and Duet knows that the client is gone', async upstream => {
  const stream = client().chat.completions.stream(ask(upstream, 'Hello [[stall]]'))
  stream.on('content', () => stream.abort())
  await assert.rejects(stream.done(), OpenAI.APIUserAbortError)
  assert.ok(await seesClientGone(stage.duet, modelOf(upstream)))
})

test('openai: models.list and models.retrieve know the catalog', async () => {
  const ids: string[] = []
  for await (const { id } of client().models.list()) ids.push(id)
  assert.deepEqual(
    ids,
    PROTOCOLS.flatMap(protocol => [modelOf(protocol), thinkingModelOf(protocol)]),
  )
  const model = await client().models.retrieve(modelOf('messages'))
  assert.equal(model.id, modelOf('messages'))
  assert.equal(model.object, 'model')
})
