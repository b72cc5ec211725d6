import { expect } from 'bun:test'
import { PLAIN_USAGE, saying } from '../pairs/wire.ts'
import type { JsonBody } from '../support/duet.ts'
import type { Claims } from './claims.ts'
import type { CaseStage, Scene } from './play.ts'
import { asking, callingBack, deltasOf, finishesOf, sentOf, streamingBack } from './requests.ts'

const WRAPPED_JSON = [
  '{"a":1}',
  '```json\n{"a":1}\n```',
  'Here you are:\n\n```json\n{\n  "a": 1\n}\n```\n\nAnything else?',
  'Sure. {"a":1} That is all.',
] as const

/** How a chat client wants its answer, and how a messages upstream is asked for it. */
export const CHAT_OPTION_CLAIMS: Claims = {
  'RA-40': {
    'when nothing is left the field is omitted': async (scene, stage) => {
      expect(await sentOf(stage, asking(scene, { stop: ['', ' \n'] }))).not.toHaveProperty('stop_sequences')
      expect(await sentOf(stage, asking(scene, { stop: [] }))).not.toHaveProperty('stop_sequences')
      expect(await sentOf(stage, asking(scene, { stop: '' }))).not.toHaveProperty('stop_sequences')
    },
    'string or array': async (scene, stage) => {
      expect((await sentOf(stage, asking(scene, { stop: 'END' }))).stop_sequences).toEqual(['END'])
    },
  },
  'RA-41': {
    'none -> thinking {"type":"disabled"} if allowed, else omitted': async (scene, stage) => {
      const none = asking(scene, { reasoning_effort: 'none' })
      const allowed = await sentOf(stage, none)
      expect(allowed.thinking).toEqual({ type: 'disabled' })
      expect(allowed).not.toHaveProperty('output_config')
      const forbidden = await sentOf(stage, {
        ...none,
        capabilities: { ...scene.capabilities, disableThinking: false },
      })
      expect(forbidden).not.toHaveProperty('thinking')
      expect(forbidden).not.toHaveProperty('output_config')
    },
    'low|medium|high|xhigh|max map 1:1': async (scene, stage) => {
      for (const effort of ['low', 'medium', 'high', 'xhigh', 'max']) {
        const { thinking, output_config } = await sentOf(stage, asking(scene, { reasoning_effort: effort }))
        expect({ thinking, output_config }).toEqual({ thinking: { type: 'adaptive' }, output_config: { effort } })
      }
    },
  },
  'RA-44': {
    'oneOf rewritten to anyOf': async (scene, stage) => {
      const { k } = (await schemaOf(stage, scene)).properties
      expect(k.anyOf).toEqual([{ type: 'string' }, { type: 'null' }])
      expect(k).not.toHaveProperty('oneOf')
    },
    'minimum moved into the description, not sent': async (scene, stage) => {
      const { n } = (await schemaOf(stage, scene)).properties
      expect(n).not.toHaveProperty('minimum')
      expect(n.description).toMatch(/minimum\W+1\b/)
    },
    'required list unchanged': async (scene, stage) => {
      expect((await schemaOf(stage, scene)).required).toEqual(['n'])
    },
  },
  'RA-45': {
    'upstream gets one extra tool with that schema and tool_choice naming it': async (scene, stage) => {
      const { tools, tool_choice } = await sentOf(stage, scene)
      expect(tools).toHaveLength(1)
      expect(tools[0].input_schema).toEqual(scene.body.response_format.json_schema.schema)
      expect(tool_choice).toEqual({ type: 'tool', name: tools[0].name })
    },
    'client sees message.content = the JSON text, no tool_calls, finish_reason "stop"': async (scene, stage) => {
      const { body } = await stage.play({ ...scene, answer: callingBack('toolu_1', '{"n":12}') })
      const [{ message, finish_reason }] = body.choices
      expect(message.content).toBe('{"n":12}')
      expect(message).not.toHaveProperty('tool_calls')
      expect(finish_reason).toBe('stop')
    },
    'streaming: input_json_delta fragments appear as delta.content': async (scene, stage) => {
      const fragments = ['{"n"', ':', '12}']
      const { text } = await stage.play({
        ...asking(scene, { stream: true }),
        answer: streamingBack('toolu_1', fragments),
      })
      const deltas = deltasOf(text)
      expect(deltas.flatMap(({ content }) => content || [])).toEqual(fragments)
      expect(deltas.flatMap(({ tool_calls }) => tool_calls ?? [])).toEqual([])
      expect(finishesOf(text)).toEqual(['stop'])
    },
  },
  'RA-46': {
    'JSON.parse(choices[0].message.content) succeeds even if the model wraps it in ```json fences or adds prose':
      async (scene, stage) => {
        for (const text of WRAPPED_JSON) {
          const wrapped = { ...scene, answer: saying({ text, finish: 'stop', usage: PLAIN_USAGE }) }
          const { body } = await stage.play(wrapped)
          expect(JSON.parse(body.choices[0].message.content)).toEqual({ a: 1 })
          const streamed = await stage.play(asking(wrapped, { stream: true }))
          const content = deltasOf(streamed.text).map(delta => delta.content ?? '')
          expect(JSON.parse(content.join(''))).toEqual({ a: 1 })
        }
        const { body } = await stage.play({ ...scene, answer: callingBack('toolu_1', '{"a":1}') })
        expect(JSON.parse(body.choices[0].message.content)).toEqual({ a: 1 })
      },
    'response_format itself is not sent to an Anthropic upstream': async (scene, stage) => {
      expect(await sentOf(stage, scene)).not.toHaveProperty('response_format')
    },
  },
  'RA-47': {
    'n = 1 is dropped': async (scene, stage) => {
      expect(await sentOf(stage, asking(scene, { n: 1 }))).not.toHaveProperty('n')
    },
  },
  'RA-48': {
    'choices[0].logprobs is null in the response': async (scene, stage) => {
      expect((await stage.play(scene)).body.choices[0].logprobs).toBeNull()
    },
  },
}

async function schemaOf(stage: CaseStage, scene: Scene): Promise<JsonBody> {
  return (await sentOf(stage, scene)).output_config.format.schema
}
