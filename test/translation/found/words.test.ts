import { expect, test } from 'bun:test'
import { says, text, turnsOf, useKinds } from '../rules/stage.ts'

/** Texts of a request that servers refuse for what is blank in them. */

const stage = useKinds({
  going: { protocol: 'messages', capabilities: { prefill: true } },
  chat: { protocol: 'chat' },
})

test('what the assistant has begun to say ends without a blank, even if blanks follow it', async () => {
  const messages = [says('user', 'q'), says('assistant', [text('abc '), text('  ')])]
  const { sent } = await stage.ask('chat', 'going', { messages })
  expect(turnsOf(sent.body).at(-1)).toEqual({ role: 'assistant', content: [text('abc')] })
})

test('an empty stop sequence takes the place of none', async () => {
  const played = await stage.ask('messages', 'chat', { stop_sequences: ['', 'a', 'b', 'c', 'd'] })
  expect(played.sent.body.stop).toEqual(['a', 'b', 'c', 'd'])
})
