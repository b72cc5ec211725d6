import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Duet, type JsonBody, startDuet } from '../support/duet.ts'
import { CHAT, type Frame, framesOf, MESSAGES, post } from '../support/http.ts'
import { ask, PAIRS, streamedText, toolNamed, UPSTREAMS } from '../support/wire.ts'

let duet: Duet
beforeAll(async () => {
  duet = await startDuet()
})
afterAll(() => duet.stop())

const WEATHER = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const QUESTION = 'What is the weather in Oslo?'

async function streamChat(model: string, content: string, more: object = {}) {
  const answer = await post(duet, CHAT, ask('chat', model, content, { stream: true, ...more }))
  expect(answer.status).toBe(200)
  return { ...answer, frames: framesOf(answer.text) }
}

async function streamMessages(model: string, content: string, more: object = {}) {
  const answer = await post(duet, MESSAGES, ask('messages', model, content, { stream: true, ...more }))
  expect(answer.status).toBe(200)
  return { ...answer, frames: framesOf(answer.text) }
}

const choicesOf = (frames: readonly Frame[]): JsonBody[] => frames.flatMap(({ json }) => json?.choices ?? [])
const finishOf = (frames: readonly Frame[]) => choicesOf(frames).flatMap(({ finish_reason }) => finish_reason ?? [])

for (const { upstream, model, thinker } of UPSTREAMS) {
  describe(`6.1: the chat-completions stream over a ${upstream} upstream`, () => {
    for (const id of [model, thinker]) {
      test(`6.1.1: the content type is text/event-stream (${id})`, async () => {
        const { headers } = await streamChat(id, 'Hi')
        expect(headers.get('content-type')).toMatch(/^text\/event-stream\b/)
      })

      test(`6.1.2: each frame is "data: " and one JSON chunk, separated by a blank line (${id})`, async () => {
        const { text } = await streamChat(id, 'Hi')
        expect(text).toEndWith('\n\n')
        const blocks = text.slice(0, -2).split('\n\n')
        expect(blocks.length).toBeGreaterThan(5)
        for (const block of blocks.slice(0, -1)) {
          expect(block).toMatch(/^data: \{[^\n]*\}$/)
          expect(JSON.parse(block.slice('data: '.length))).toMatchObject({ object: 'chat.completion.chunk', model: id })
        }
      })

      test(`6.1.3: the stream ends with the literal frame data: [DONE], once (${id})`, async () => {
        const { text } = await streamChat(id, 'Hi')
        expect(text).toEndWith('\n\ndata: [DONE]\n\n')
        expect(text.split('[DONE]')).toHaveLength(2)
      })

      test(`6.1.4: token text arrives in choices[0].delta.content, in more than one piece (${id})`, async () => {
        const { frames } = await streamChat(id, 'What is a walrus?')
        const whole = await post(duet, CHAT, ask('chat', id, 'What is a walrus?'))
        expect(streamedText('chat', frames)).toBe(whole.body.choices[0].message.content)
        expect(choicesOf(frames).filter(({ delta }) => delta?.content).length).toBeGreaterThan(3)
      })

      test(`6.1: one id and one finish_reason in the whole stream (${id})`, async () => {
        const { frames } = await streamChat(id, 'Hi')
        expect(new Set(frames.slice(0, -1).map(({ json }) => json.id)).size).toBe(1)
        expect(finishOf(frames)).toEqual(['stop'])
      })

      test(`6.1.5: a streamed tool call arrives as fragments that concatenate to JSON (${id})`, async () => {
        const { frames } = await streamChat(id, QUESTION, toolNamed('chat', 'get_weather', WEATHER))
        const pieces = choicesOf(frames).flatMap(({ delta }) => delta?.tool_calls ?? [])
        expect(pieces[0]).toMatchObject({ index: 0, type: 'function', function: { name: 'get_weather' } })
        expect(pieces[0].id).toMatch(/./)
        const fragments = pieces.map(piece => piece.function?.arguments ?? '')
        expect(fragments.filter(Boolean).length).toBeGreaterThan(1)
        expect(JSON.parse(fragments.join(''))).toEqual({ city: expect.any(String) })
        expect(finishOf(frames)).toEqual(['tool_calls'])
      })

      test(`6.1.6: with include_usage a final frame before [DONE] carries usage (${id})`, async () => {
        const { frames } = await streamChat(id, 'Hi', { stream_options: { include_usage: true } })
        const usage = frames.at(-2)?.json.usage
        expect(usage.prompt_tokens).toBeGreaterThan(0)
        expect(usage.completion_tokens).toBeGreaterThan(0)
        expect(usage.total_tokens).toBe(usage.prompt_tokens + usage.completion_tokens)
        expect(frames.filter(({ json }) => json?.usage)).toHaveLength(1)
      })

      for (const more of [{}, { stream_options: { include_usage: false } }, { stream_options: {} }]) {
        test(`6.1.6: with ${JSON.stringify(more)} no frame carries usage (${id})`, async () => {
          const { frames } = await streamChat(id, 'Hi', more)
          expect(frames.filter(({ json }) => json?.usage)).toEqual([])
        })
      }

      test(`6.1: a truncated stream ends with length and [DONE] (${id})`, async () => {
        const { frames } = await streamChat(id, 'Hi', { max_tokens: 3 })
        expect(finishOf(frames)).toEqual(['length'])
        expect(frames.at(-1)?.data).toBe('[DONE]')
      })
    }
  })

  describe(`6.2: the messages stream over a ${upstream} upstream`, () => {
    for (const id of [model, thinker]) {
      test(`6.2: the content type is text/event-stream (${id})`, async () => {
        const { headers } = await streamMessages(id, 'Hi')
        expect(headers.get('content-type')).toMatch(/^text\/event-stream\b/)
      })

      test(`6.2: each is "event: <name>", then "data: <JSON>" whose type is the name (${id})`, async () => {
        const { text } = await streamMessages(id, 'Hi')
        expect(text).toEndWith('\n\n')
        for (const block of text.slice(0, -2).split('\n\n')) {
          const [, name, data = ''] = /^event: ([a-z_]+)\ndata: (\{[^\n]*\})$/.exec(block) ?? []
          expect(JSON.parse(data).type).toBe(name)
        }
      })

      test(`6.2: all six are emitted, in the order of the protocol (${id})`, async () => {
        const { frames } = await streamMessages(id, 'Hi')
        const names = frames.map(({ event }) => event).filter(name => name !== 'ping')
        expect(names.filter((name, place) => name !== names[place - 1])).toEqual([
          'message_start',
          'content_block_start',
          'content_block_delta',
          'content_block_stop',
          'message_delta',
          'message_stop',
        ])
      })

      test(`6.2: message_start opens an empty message (${id})`, async () => {
        const { frames } = await streamMessages(id, 'Hi')
        expect(frames[0]?.json.message).toMatchObject({
          type: 'message',
          role: 'assistant',
          model: id,
          content: [],
          stop_reason: null,
          usage: { input_tokens: expect.any(Number) },
        })
      })

      test(`6.2: content_block_delta has an index and a text_delta, and they make the text (${id})`, async () => {
        const { frames } = await streamMessages(id, 'What is a walrus?')
        const deltas = frames.filter(({ event }) => event === 'content_block_delta')
        for (const { json } of deltas) {
          expect(json).toMatchObject({ index: 0, delta: { type: 'text_delta', text: expect.any(String) } })
        }
        expect(deltas.length).toBeGreaterThan(3)
      })

      test(`6.2: the deltas concatenate to the text of the answer that is not streamed (${id})`, async () => {
        const { frames } = await streamMessages(id, 'What is a walrus?')
        const whole = await post(duet, MESSAGES, ask('messages', id, 'What is a walrus?'))
        expect(streamedText('messages', frames)).toBe(whole.body.content[0].text)
      })

      test(`6.2: message_delta carries stop_reason and output_tokens (${id})`, async () => {
        const { frames } = await streamMessages(id, 'Hi')
        const { delta, usage } = frames.find(({ event }) => event === 'message_delta')?.json ?? {}
        expect(delta.stop_reason).toBe('end_turn')
        expect(usage.output_tokens).toBeGreaterThan(0)
      })

      test(`6.2: a truncated stream says max_tokens (${id})`, async () => {
        const { frames } = await streamMessages(id, 'Hi', { max_tokens: 3 })
        const { delta } = frames.find(({ event }) => event === 'message_delta')?.json ?? {}
        expect(delta.stop_reason).toBe('max_tokens')
        expect(frames.at(-1)?.event).toBe('message_stop')
      })

      test(`6.2: a tool call is a tool_use block whose input arrives in fragments (${id})`, async () => {
        const { frames } = await streamMessages(id, QUESTION, toolNamed('messages', 'get_weather', WEATHER))
        const started = frames.flatMap(({ json }) => (json.content_block?.type === 'tool_use' ? [json] : []))
        expect(started).toHaveLength(1)
        const { index, content_block } = started[0]
        expect(content_block.id).toMatch(/./)
        expect(content_block).toMatchObject({ name: 'get_weather', input: {} })
        const fragments = frames.flatMap(({ event, json }) =>
          event === 'content_block_delta' && json.index === index ? [json.delta] : [],
        )
        expect(new Set(fragments.map(({ type }) => type))).toEqual(new Set(['input_json_delta']))
        expect(fragments.filter(({ partial_json }) => partial_json).length).toBeGreaterThan(1)
        const input = JSON.parse(fragments.map(({ partial_json }) => partial_json).join(''))
        expect(input).toEqual({ city: expect.any(String) })
        expect(frames.find(({ event }) => event === 'message_delta')?.json.delta.stop_reason).toBe('tool_use')
      })
    }
  })
}

describe('6: streams are streams', () => {
  for (const { title, protocol, path, model, thinker } of PAIRS) {
    test(`6: deltas arrive while the model is still writing: ${title}`, async () => {
      // The sandbox stops after three deltas and never goes on: what can be read now was not kept back.
      const abort = new AbortController()
      const response = await fetch(duet.url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${duet.key}` },
        body: JSON.stringify(ask(protocol, model, 'Hi [[stall]]', { stream: true })),
        signal: abort.signal,
      })
      expect(response.status).toBe(200)
      let text = ''
      for await (const chunk of response.body as ReadableStream<Uint8Array>) {
        text += new TextDecoder().decode(chunk)
        if (streamedText(protocol, framesOf(text)) !== '') break
      }
      abort.abort()
      expect(streamedText(protocol, framesOf(text))).not.toBe('')
    })

    for (const accept of ['application/json', '*/*', 'text/event-stream', 'text/plain']) {
      test(`6: a stream does not depend on Accept: ${accept}, ${title}`, async () => {
        const body = ask(protocol, thinker, 'Hi', { stream: true })
        const { headers, text } = await post(duet, path, body, { headers: { accept } })
        expect(headers.get('content-type')).toMatch(/^text\/event-stream\b/)
        expect(text).toContain(protocol === 'chat' ? 'data: [DONE]' : 'event: message_stop')
      })
    }
  }
})
