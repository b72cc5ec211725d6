import { expect, test } from 'bun:test'
import { translate } from '../../../src/gateway/translate.ts'
import { PROTOCOLS } from '../../../src/protocol/protocols.ts'
import { askOf, targetFor } from '../property/play.ts'
import { fn, says } from '../rules/stage.ts'

const VIEW = {
  id: '0'.repeat(32),
  model: 'acme/m',
  createdSeconds: 1,
  includeUsage: false,
  choices: 1,
  showThinking: true,
  promptEstimate: 1,
  textTools: new Set<string>(),
  legacyCalls: false,
  wantsJson: true,
}
const NOTHING = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 }

const event = (payload: { type: string; [key: string]: unknown }) => ({
  event: payload.type,
  data: JSON.stringify(payload),
})

test('an answer that is held until it is whole is delivered as it is when the money runs out', () => {
  const asked = { model: 'm', stream: true, messages: [says('user', 'q')], tools: [fn('f')] }
  const ask = askOf('chat', { ...asked, response_format: { type: 'json_object' } })
  const pair = translate(ask, PROTOCOLS.chat, PROTOCOLS.messages)
  pair.request(targetFor('messages'))
  const stream = pair.stream(VIEW)
  const said = [
    event({ type: 'message_start', message: { usage: { input_tokens: 1, output_tokens: 0 } } }),
    event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Well: {"a":' } }),
  ]
  const before = said.map(frame => stream.push(frame)).join('')
  expect(before).not.toContain('Well')
  const ending = stream.shorten() + stream.close({ usage: NOTHING, cost: '0' })
  expect(ending).toContain(JSON.stringify({ content: 'Well: {"a":' }).slice(1, -1))
  expect(ending).toContain('"finish_reason":"length"')
  expect(ending).toEndWith('data: [DONE]\n\n')
})
