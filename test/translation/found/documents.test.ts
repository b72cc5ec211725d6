import { describe, expect, test } from 'bun:test'
import type { JsonBody } from '../../support/duet.ts'
import { says, text, turnsOf, use, used, useKinds } from '../rules/stage.ts'

/** Files, between a protocol that has them by address and one that has not. */

const stage = useKinds({
  chat: { protocol: 'chat', capabilities: { documents: true } },
  messages: { protocol: 'messages', capabilities: { documents: true } },
})

describe('a document by its address is a word to a chat upstream', () => {
  const document = { type: 'document', title: 'Report', source: { type: 'url', url: 'https://files.example/a.pdf' } }
  const cases: readonly [string, readonly object[]][] = [
    ['that the user gives', [says('user', [text('read'), document])]],
    [
      'that a tool gives',
      [says('user', 'q'), says('assistant', [use('t1')]), says('user', [used('t1', [text('read'), document])])],
    ],
  ]
  for (const [what, messages] of cases) {
    test(what, async () => {
      const { sent, dropped, status } = await stage.ask('messages', 'chat', { messages })
      expect(status).toBe(200)
      expect(sent.text).not.toContain('files.example')
      expect(sent.text).not.toContain('file_data')
      const { content } = sent.body.messages.at(-1) as JsonBody
      expect(content).toMatch(/read\s+\[document omitted: Report\]/)
      expect(dropped).toContain('document')
    })
  }
})

test('a file that does not say what it is reaches a messages upstream as a PDF', async () => {
  const file = { type: 'file', file: { filename: 'a.pdf', file_data: 'aGVsbG8=' } }
  const { sent } = await stage.ask('chat', 'messages', { messages: [says('user', [text('read'), file])] })
  const source = { type: 'base64', media_type: 'application/pdf', data: 'aGVsbG8=' }
  expect(turnsOf(sent.body)[0]?.content).toMatchObject([text('read'), { type: 'document', source }])
})
