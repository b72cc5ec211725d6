import { describe, expect, test } from 'bun:test'
import { chatClient, useScript } from '../../pairs/pairs.ts'
import type { JsonBody } from '../../support/duet.ts'
import { CHAT, post, user } from '../../support/http.ts'
import { eventStream } from '../../support/upstream.ts'
import { chatFrame } from '../../support/vendor.ts'
import { brokenEnd } from '../../support/wire.ts'
import { chatFolded } from '../rules/stage.ts'
import { chunksFrom, DONE, signal } from './chunks.ts'

/** What a chat upstream says of the end, in a stream that is passed on. */

const stage = useScript()

/** A chunk of the vendors that put a reason on each. */
const eager = (delta: object) => chatFrame({ delta, finish_reason: 'stop' })

const finishesIn = (chunks: readonly { json: JsonBody }[]) =>
  chunks.flatMap(({ json }) => json.choices.map(({ finish_reason }: JsonBody) => finish_reason))

describe('a reason on every chunk', () => {
  test('costs neither the role nor the text, and becomes one ending', async () => {
    const frames = [
      eager({ role: 'assistant', content: '' }),
      eager({ content: 'Good' }),
      eager({ content: ' morning' }),
      eager({}),
      DONE,
    ]
    const chunks = await chunksFrom(stage, { frames })
    expect(chunks.map(({ json }) => json.choices[0].delta.role).filter(Boolean)).toEqual(['assistant'])
    expect(chatFolded(chunks)).toMatchObject({ content: 'Good morning', finish: 'stop' })
    const finishes = finishesIn(chunks)
    expect(finishes.filter(Boolean)).toEqual(['stop'])
    expect(finishes.at(-1)).toBe('stop')
  })

  test('does not keep the text until the end', async () => {
    const seen = signal()
    const frames = [eager({ role: 'assistant', content: 'Good' }), seen.given, eager({ content: ' morning' }), DONE]
    const hear = ({ choices }: JsonBody) => choices[0].delta.content === 'Good' && seen.give()
    const chunks = await chunksFrom(stage, { frames, hear })
    expect(await seen.given).toBe(true)
    expect(chatFolded(chunks)).toMatchObject({ content: 'Good morning', finish: 'stop' })
  })

  test('does not make a pause the end', async () => {
    const first = ['Good', ' mor'].map(content => eager({ content }))
    const frames = [...first, Bun.sleep(3_000), eager({ content: 'ning' }), DONE]
    expect(chatFolded(await chunksFrom(stage, { frames })).content).toBe('Good morning')
  })
})

describe('a reason that rides on the last text', () => {
  const logprobs = (token: string) => ({ content: [{ token, logprob: -1, bytes: null, top_logprobs: [] }] })
  const frames = [
    chatFrame({ delta: { role: 'assistant', content: '' }, logprobs: null }),
    chatFrame({ delta: { content: 'Good' }, logprobs: logprobs('Good') }),
    chatFrame({ delta: { content: ' morning' }, logprobs: logprobs(' morning'), finish_reason: 'stop' }),
    DONE,
  ]

  test('does not count the tokens twice', async () => {
    stage.answer = () => eventStream(frames)
    const completions = chatClient(stage).chat.completions
    const asked: JsonBody = { model: stage.model('chat'), messages: user('q'), stream: true, logprobs: true }
    const { choices }: JsonBody = await completions.stream(asked).finalChatCompletion()
    expect(choices[0].message.content).toBe('Good morning')
    expect(choices[0].logprobs.content.map(({ token }: JsonBody) => token)).toEqual(['Good', ' morning'])
  })
})

test('all chunks are of one time, whatever the upstream’s clock says', async () => {
  const at = (created: number, choice: object) => chatFrame(choice, { created })
  const frames = [
    at(100, { delta: { role: 'assistant', content: 'Good' } }),
    at(101, { delta: { content: ' morning' } }),
    at(103, { delta: {}, finish_reason: 'stop' }),
    chatFrame({}, { created: 104, choices: [], usage: { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 } }),
    DONE,
  ]
  const chunks = await chunksFrom(stage, { frames, fields: { stream_options: { include_usage: true } } })
  expect(chunks.length).toBeGreaterThanOrEqual(4)
  expect(new Set(chunks.map(({ json }) => json.created))).toEqual(new Set([100]))
})

describe('of two answers', () => {
  const of = (index: number, choice: object) => chatFrame({ index, ...choice })
  const first = [
    of(0, { delta: { role: 'assistant', content: 'One' } }),
    of(1, { delta: { role: 'assistant', content: 'Two' } }),
    of(0, { delta: {}, finish_reason: 'stop' }),
  ]
  const cases: readonly [string, readonly string[]][] = [
    ['one is never finished', first],
    ['one never begins', first.filter((_, place) => place !== 1)],
  ]
  for (const [what, frames] of cases) {
    test(`${what}: that is an error, no ending`, async () => {
      stage.answer = () => eventStream(frames)
      const asked = { model: stage.model('chat'), messages: user('q'), stream: true, n: 2 }
      const { text } = await post(stage.duet, CHAT, asked)
      expect(brokenEnd('chat', text)).toMatchObject({ code: 'upstream_error' })
    })
  }
})
