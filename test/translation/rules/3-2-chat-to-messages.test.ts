import { describe, expect, test } from 'bun:test'
import { eventStream } from '../../support/upstream.ts'
import { chatFrame } from '../../support/vendor.ts'
import { brokenEnd } from '../../support/wire.ts'
import { eventLines } from '../frames.ts'
import { ASKED, chunk, DONE, ends, made, opens, stop, useChatStream } from './chat-stream.ts'
import { call, text, use } from './stage.ts'

/** Section 3.2: a chat stream becomes a messages stream. Calls have a file of their own. */

const { stage, play, final, lines, content } = useChatStream()

describe('the beginning', () => {
  test('comes with the first choice, and counts no output yet', async () => {
    const { frames } = await play(
      chatFrame({}, { choices: [], prompt_filter_results: [] }),
      chunk({ role: 'assistant' }),
      chunk({ content: 'a' }),
      ...stop(),
    )
    expect(frames[0]?.event).toBe('message_start')
    expect(frames[0]?.json.message).toMatchObject({
      type: 'message',
      role: 'assistant',
      content: [],
      stop_reason: null,
    })
    expect(frames[0]?.json.message.usage.output_tokens).toBe(0)
    expect(frames[0]?.json.message.usage.input_tokens).toBeInteger()
    expect(frames.filter(({ event }) => event === 'message_start')).toHaveLength(1)
  })

  test('opens no block for a role, nothing, or an empty text', async () => {
    const silent = [
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: null }),
      chunk({ content: '' }),
      chunk({}),
    ]
    expect(await lines(...silent, chunk({ content: 'a' }), ...stop())).toEqual([
      'message_start',
      'content_block_start #0 text',
      'content_block_delta #0 text_delta "a"',
      'content_block_stop #0',
      ...ends(),
    ])
  })
})

describe('texts and thoughts', () => {
  test('are blocks in turn, a second thought a block of its own', async () => {
    const blocks = await content(
      chunk({ reasoning_content: 'h' }),
      chunk({ reasoning_content: 'm' }),
      chunk({ content: 'a' }),
      chunk({ reasoning: 'or' }),
      chunk({ content: 'b' }),
      ...stop(),
    )
    expect(blocks).toEqual([
      { type: 'thinking', thinking: 'hm', signature: '' },
      text('a'),
      { type: 'thinking', thinking: 'or', signature: '' },
      text('b'),
    ])
  })

  test('that are told twice are shown once', async () => {
    const [thought] = await content(
      chunk({ reasoning: 'hm', reasoning_content: 'hm' }),
      chunk({ content: 'a' }),
      ...stop(),
    )
    expect(thought).toEqual({ type: 'thinking', thinking: 'hm', signature: '' })
  })

  test('may come as parts, and a refusal as itself', async () => {
    expect(await content(chunk({ content: [text('a'), text('b')] }), ...stop())).toEqual([text('ab')])
    const refused = await final(chunk({ refusal: 'I will ' }), chunk({ refusal: 'not' }), ...stop())
    expect([refused.content[0].text, refused.stop_reason]).toEqual(['I will not', 'refusal'])
  })

  test('of one chunk with everything are all there', async () => {
    const all = chunk(
      { reasoning_content: 'hm', content: 'a', tool_calls: [{ index: 0, ...call('c1', 'f', '{"x":1}') }] },
      'tool_calls',
    )
    expect(await content(all, DONE)).toEqual([
      { type: 'thinking', thinking: 'hm', signature: '' },
      text('a'),
      use('c1', 'f', { x: 1 }),
    ])
  })

  test('stay away from a caller who did not ask for thoughts', async () => {
    const answer = () => eventStream([chunk({ reasoning_content: 'hm' }), chunk({ content: 'a' }), ...stop()])
    const played = await stage.ask('messages', 'chat', { stream: true }, { answer })
    expect(played.text).not.toMatch(/"thinking"|thinking_delta|"hm"/)
    expect(eventLines(played.text)[1]).toBe('content_block_start #0 text')
  })

  test('keep halves of a character together', async () => {
    const half = (letters: string) =>
      `data: {"choices":[{"index":0,"delta":{"content":"${letters}"},"finish_reason":null}]}\n\n`
    expect(await content(half('a\\ud83d'), half('\\ude00b'), ...stop())).toEqual([text('a😀b')])
  })
})

describe('the end', () => {
  test('is not a reason: content, usage and more reasons may follow', async () => {
    const usage = { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 }
    const message = await final(
      chunk({ content: 'a' }, 'stop'),
      opens(0, 'c1'),
      made(0, '{"a":'),
      chunk({ tool_calls: [{ index: 0, function: { arguments: '1}' } }] }, 'tool_calls'),
      chatFrame({}, { choices: [], usage }),
      DONE,
    )
    expect(message.content).toMatchObject([text('a'), use('c1', 'f', { a: 1 })])
    expect([message.stop_reason, message.usage.output_tokens]).toEqual(['tool_use', 5])
  })

  test('may be a reason without [DONE], or [DONE] without a reason', async () => {
    expect((await final(chunk({ content: 'a' }), chunk({}, 'stop'))).stop_reason).toBe('end_turn')
    expect((await final(chunk({ content: 'a' }), DONE)).stop_reason).toBe('end_turn')
    expect((await final(opens(0, 'c1', 'f', '{}'), DONE)).stop_reason).toBe('tool_use')
  })

  test('without either is an error', async () => {
    const { text } = await play(chunk({ content: 'a' }), chunk({ content: 'b' }))
    expect(brokenEnd('messages', text).message).toMatch(/ended before completion|ended/i)
  })

  test('of nothing at all is an empty block', async () => {
    expect(await lines(chunk({ role: 'assistant' }), ...stop())).toEqual([
      'message_start',
      'content_block_start #0 text',
      'content_block_stop #0',
      ...ends(),
    ])
  })

  const ERRORS = [
    { error: { message: 'busy' } },
    { error: 'busy' },
    { choices: [], error: { message: 'busy', code: 502 } },
    { error: { message: 'busy' }, choices: [{ index: 0, delta: {}, finish_reason: 'error' }] },
  ]
  for (const error of ERRORS) {
    test(`may be an error: ${JSON.stringify(error).slice(0, 50)}`, async () => {
      const { text } = await play(
        chunk({ content: 'a' }),
        `data: ${JSON.stringify(error)}\n\n`,
        chunk({ content: 'MORE' }),
        ...stop(),
      )
      expect(brokenEnd('messages', text)).toBeObject()
      expect(text).not.toContain('MORE')
    })
  }

  test('comes although the upstream does not hang up', async () => {
    const usage = { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 }
    const frames = [chunk({ content: 'a' }), chunk({}, 'stop'), chatFrame({}, { choices: [], usage })]
    const played = await stage.ask('messages', 'chat', ASKED, { answer: () => eventStream(frames, 'silence') })
    expect(played.frames.at(-1)?.event).toBe('message_stop')
  }, 20_000)
})
