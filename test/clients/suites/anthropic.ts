import assert from 'node:assert/strict'
import { test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod'
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod'
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

const client = () => new Anthropic({ baseURL: stage.duet.base, apiKey: stage.duet.key, maxRetries: 0 })
const ask = (upstream: Protocol, content: string) => ({
  model: modelOf(upstream),
  max_tokens: 2000,
  messages: [{ role: 'user' as const, content }],
})
const askToThink = (upstream: Protocol, content: string) => ({
  ...ask(upstream, content),
  model: thinkingModelOf(upstream),
  thinking: { type: 'adaptive' as const },
})

const textOf = (content: readonly { type: string; text?: string }[]): string =>
  content.map(block => (block.type === 'text' ? block.text : '')).join('')

eachUpstream('anthropic: create returns a text with its usage', async upstream => {
  const { model, content, stop_reason, usage } = await client().messages.create(ask(upstream, HELLO))
  assert.equal(model, modelOf(upstream))
  assert.deepEqual(
    content.map(({ type }) => type),
    ['text'],
  )
  assert.equal(textOf(content), HELLO_ANSWER)
  assert.equal(stop_reason, 'end_turn')
  assert.ok(usage.input_tokens > 0 && usage.output_tokens > 0)
})

eachUpstream('anthropic: the stream helper puts the same answer together', async upstream => {
  const whole = await client().messages.create(ask(upstream, HELLO))
  const stream = client().messages.stream(ask(upstream, HELLO))
  const deltas: string[] = []
  stream.on('text', delta => deltas.push(delta))
  const final = await stream.finalMessage()
  assert.ok(deltas.length > 5)
  assert.equal(deltas.join(''), HELLO_ANSWER)
  assert.equal(textOf(final.content), HELLO_ANSWER)
  assert.equal(final.stop_reason, 'end_turn')
  assert.equal(final.usage.input_tokens, whole.usage.input_tokens)
  assert.equal(final.usage.output_tokens, whole.usage.output_tokens)
})

for (const stream of [false, true]) {
  for (const thinks of [false, true]) {
    const title = `${stream ? 'streamed' : 'whole'}${thinks ? ', with thoughts that go back and forth' : ''}`
    eachUpstream(`anthropic: toolRunner completes a round trip, ${title}`, async upstream => {
      const calls: City[] = []
      const tool = betaZodTool({
        ...TOOL,
        inputSchema: CITY,
        run(city) {
          calls.push(city)
          return forecast(city)
        },
      })
      const request = thinks ? askToThink(upstream, QUESTION) : ask(upstream, QUESTION)
      const runner = client().beta.messages.toolRunner({ ...request, tools: [tool], stream })
      const final = await runner.runUntilDone()
      assert.match(textOf(final.content), QUESTION_ANSWER)
      assert.equal(final.stop_reason, 'end_turn')
      assert.deepEqual(calls, [{ city: 'Paris' }])
    })
  }
}

eachUpstream('anthropic: parse returns an object of the schema', async upstream => {
  const { parsed_output } = await client().messages.parse({
    ...ask(upstream, QUESTION),
    output_config: { format: zodOutputFormat(REPORT) },
  })
  assert.equal(parsed_output?.city, 'Paris')
})

for (const stream of [false, true]) {
  eachUpstream(
    `anthropic: thinking that is asked for comes first, ${stream ? 'streamed' : 'whole'}`,
    async upstream => {
      const request = {
        ...ask(upstream, HELLO),
        model: thinkingModelOf(upstream),
        thinking: { type: 'adaptive' as const },
      }
      const { content, usage } = stream
        ? await client().messages.stream(request).finalMessage()
        : await client().messages.create(request)
      const [thought, said] = content
      assert.ok(thought?.type === 'thinking' && said?.type === 'text')
      assert.match(thought.thinking, /The user wrote "Hello"/)
      assert.match(said.text, /^You said: "Hello"/)
      assert.ok(usage.output_tokens > 200)
    },
  )
}

eachUpstream('anthropic: an aborted stream ends at once, and Duet knows that the client is gone', async upstream => {
  const stream = client().messages.stream(ask(upstream, 'Hello [[stall]]'))
  stream.on('text', () => stream.abort())
  await assert.rejects(stream.done(), Anthropic.APIUserAbortError)
  assert.ok(await seesClientGone(stage.duet, modelOf(upstream)))
})

test('anthropic: models.list and models.retrieve know the catalog', async () => {
  const ids: string[] = []
  for await (const { id } of client().models.list()) ids.push(id)
  assert.deepEqual(
    ids,
    PROTOCOLS.flatMap(protocol => [modelOf(protocol), thinkingModelOf(protocol)]),
  )
  const model = await client().models.retrieve(modelOf('chat'))
  assert.equal(model.id, modelOf('chat'))
  assert.equal(model.type, 'model')
})
