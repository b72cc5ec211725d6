import assert from 'node:assert/strict'
import { ChatAnthropic } from '@langchain/anthropic'
import { type AIMessageChunk, type BaseMessage, HumanMessage, type UsageMetadata } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { ChatOpenAI } from '@langchain/openai'
import { modelOf } from '../stage/duet.ts'
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

const CLIENTS: Readonly<Record<string, (model: string) => ChatOpenAI | ChatAnthropic>> = {
  '@langchain/openai': model =>
    new ChatOpenAI({ model, apiKey: stage.duet.key, configuration: { baseURL: stage.duet.base }, maxRetries: 0 }),
  '@langchain/anthropic': model =>
    new ChatAnthropic({
      model,
      apiKey: stage.duet.key,
      anthropicApiUrl: stage.duet.base,
      maxTokens: 2000,
      maxRetries: 0,
    }),
}

const WEATHER = tool((city: City) => forecast(city), { ...TOOL, schema: CITY })

for (const [name, client] of Object.entries(CLIENTS)) {
  eachUpstream(`${name}: invoke returns a text with its usage`, async upstream => {
    const { text, usage_metadata } = await client(modelOf(upstream)).invoke(HELLO)
    assert.equal(text, HELLO_ANSWER)
    assert.ok(outputTokens(usage_metadata) > 0)
  })

  eachUpstream(`${name}: stream puts the same answer together`, async upstream => {
    const whole = await client(modelOf(upstream)).invoke(HELLO)
    const chunks = await Array.fromAsync(await client(modelOf(upstream)).stream(HELLO))
    assert.ok(chunks.filter(({ text }) => text !== '').length > 5)
    const { text, usage_metadata } = concatenated(chunks)
    assert.equal(text, HELLO_ANSWER)
    assert.equal(outputTokens(usage_metadata), outputTokens(whole.usage_metadata))
  })

  for (const streamed of [false, true]) {
    eachUpstream(`${name}: bindTools completes a round trip, ${streamed ? 'streamed' : 'whole'}`, async upstream => {
      const model = client(modelOf(upstream)).bindTools([WEATHER])
      const ask = async (history: BaseMessage[]) =>
        streamed ? concatenated(await Array.fromAsync(await model.stream(history))) : model.invoke(history)
      const question = new HumanMessage(QUESTION)
      const first = await ask([question])
      const [call] = first.tool_calls ?? []
      assert.ok(call)
      assert.equal(call.name, TOOL.name)
      assert.deepEqual(call.args, { city: 'Paris' })
      const result = await WEATHER.invoke({ ...call, type: 'tool_call' })
      const second = await ask([question, first, result])
      assert.match(second.text, QUESTION_ANSWER)
    })
  }

  eachUpstream(`${name}: withStructuredOutput returns an object of the schema`, async upstream => {
    const report = await client(modelOf(upstream)).withStructuredOutput(REPORT).invoke(QUESTION)
    assert.equal(REPORT.parse(report).city, 'Paris')
  })
}

/** ChatAnthropic believes the start of a stream about the prompt, and there it is an estimate where the upstream speaks chat. */
function outputTokens(usage: UsageMetadata | undefined): number {
  assert.ok(usage && usage.input_tokens > 0)
  assert.equal(usage.total_tokens, usage.input_tokens + usage.output_tokens)
  return usage.output_tokens
}

const concatenated = (chunks: AIMessageChunk[]): AIMessageChunk => chunks.reduce((whole, chunk) => whole.concat(chunk))
