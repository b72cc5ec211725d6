import assert from 'node:assert/strict'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, isStepCount, type LanguageModel, Output, streamText, tool } from 'ai'
import { modelOf, thinkingModelOf } from '../stage/duet.ts'
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

const settings = () => ({ baseURL: stage.duet.base, apiKey: stage.duet.key })

type ProviderOptions = NonNullable<Parameters<typeof generateText>[0]['providerOptions']>

interface Provider {
  readonly model: (id: string) => LanguageModel
  /** What asks for reasoning; absent where the provider does not read it. */
  readonly reasoning?: ProviderOptions
}

const PROVIDERS: Readonly<Record<string, Provider>> = {
  '@ai-sdk/openai-compatible': {
    model: id =>
      createOpenAICompatible({
        ...settings(),
        name: 'duet',
        includeUsage: true,
        supportsStructuredOutputs: true,
      }).chatModel(id),
    reasoning: {},
  },
  '@ai-sdk/openai': { model: id => createOpenAI(settings()).chat(id) },
  '@ai-sdk/anthropic': {
    model: id => createAnthropic(settings()).messages(id),
    reasoning: { anthropic: { thinking: { type: 'adaptive' } } },
  },
}

const WAYS = { generateText, streamText }

/** The anthropic provider warns where it has to guess it. */
const maxOutputTokens = 4000

for (const [name, { model, reasoning }] of Object.entries(PROVIDERS)) {
  const ask = (id: string, prompt: string) => ({ model: model(id), prompt, maxOutputTokens })

  eachUpstream(`${name}: generateText returns a text with its usage`, async upstream => {
    const { text, finishReason, usage } = await generateText(ask(modelOf(upstream), HELLO))
    assert.equal(text, HELLO_ANSWER)
    assert.equal(finishReason, 'stop')
    assert.ok((usage.inputTokens ?? 0) > 0 && (usage.outputTokens ?? 0) > 0)
  })

  eachUpstream(`${name}: streamText puts the same answer together`, async upstream => {
    const whole = await generateText(ask(modelOf(upstream), HELLO))
    const { textStream, finishReason, usage } = streamText(ask(modelOf(upstream), HELLO))
    const deltas = await Array.fromAsync(textStream)
    assert.ok(deltas.length > 5)
    assert.equal(deltas.join(''), HELLO_ANSWER)
    assert.equal(await finishReason, 'stop')
    assert.equal((await usage).inputTokens, whole.usage.inputTokens)
    assert.equal((await usage).outputTokens, whole.usage.outputTokens)
  })

  for (const [way, generate] of Object.entries(WAYS)) {
    eachUpstream(`${name}: ${way} completes a round trip with a tool in two steps`, async upstream => {
      const { tools, calls } = weatherTools()
      const { text, steps } = await generate({ ...ask(modelOf(upstream), QUESTION), tools, stopWhen: isStepCount(4) })
      assert.match(await text, QUESTION_ANSWER)
      assert.deepEqual(calls, [{ city: 'Paris' }])
      assert.deepEqual(
        (await steps).map(({ finishReason }) => finishReason),
        ['tool-calls', 'stop'],
      )
    })

    if (reasoning === undefined) continue
    eachUpstream(`${name}: ${way} shows the reasoning before the call and before the answer`, async upstream => {
      const { tools } = weatherTools()
      const { text, steps } = await generate({
        ...ask(thinkingModelOf(upstream), QUESTION),
        tools,
        stopWhen: isStepCount(4),
        providerOptions: reasoning,
      })
      assert.match(await text, QUESTION_ANSWER)
      const [first, second] = await steps
      assert.match(first?.reasoningText ?? '', /I should call get_weather/)
      assert.match(second?.reasoningText ?? '', /I can answer at once/)
    })
  }

  eachUpstream(`${name}: Output.object is an object of the schema, whole and streamed`, async upstream => {
    const request = { ...ask(modelOf(upstream), QUESTION), output: Output.object({ schema: REPORT }) }
    const { output } = await generateText(request)
    assert.equal(output.city, 'Paris')
    assert.deepEqual(await streamText(request).output, output)
  })
}

function weatherTools() {
  const calls: City[] = []
  const execute = (city: City) => {
    calls.push(city)
    return forecast(city)
  }
  const { name, description } = TOOL
  return { tools: { [name]: tool({ description, inputSchema: CITY, execute }) }, calls }
}
