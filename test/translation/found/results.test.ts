import { describe, expect, test } from 'bun:test'
import type { JsonBody } from '../../support/duet.ts'
import { call, calls, expectRefused, fn, result, says, text, use, used, useKinds } from '../rules/stage.ts'

/** What tools gave back, on its way to an upstream of the other protocol. */

const stage = useKinds({
  lists: { protocol: 'chat', capabilities: { content_array_in_tool: true } },
  seeing: { protocol: 'chat', capabilities: { vision: true } },
  'seeing-lists': { protocol: 'chat', capabilities: { vision: true, content_array_in_tool: true } },
  messages: { protocol: 'messages' },
})

type KindName = Parameters<typeof stage.ask>[1]

const history = (block: object) => [says('user', 'q'), says('assistant', [use('t1')]), says('user', [block])]

async function toolMessage(kind: KindName, block: object): Promise<JsonBody> {
  const { sent } = await stage.ask('messages', kind, { messages: history(block) })
  return sent.body.messages.find(({ role }: JsonBody) => role === 'tool')
}

describe('a failure is told in words where results are lists', () => {
  const cases: readonly [string, unknown, unknown][] = [
    ['of two texts', [text('no'), text('way')], [text('Error: no'), text('way')]],
    ['of one text', [text('no')], 'Error: no'],
    ['in a plain string', 'no', 'Error: no'],
  ]
  for (const [what, content, wanted] of cases) {
    test(what, async () => {
      const message = await toolMessage('lists', used('t1', content, { is_error: true }))
      expect(message.content).toEqual(wanted)
    })
  }
})

describe('what no result can hold is refused where it stands', () => {
  const cases: readonly [string, object][] = [
    ['audio', { type: 'input_audio', input_audio: { data: 'aGk=', format: 'wav' } }],
    ['a file', { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,aGk=' } }],
  ]
  for (const [what, part] of cases) {
    test(what, async () => {
      const messages = [says('user', 'q'), calls(call('c1')), result('c1', [part])]
      const played = await stage.ask('chat', 'messages', { messages, tools: [fn('f')] })
      expectRefused(played)
      expect(played.body.error.param).toBe('messages[2].content[0]')
    })
  }
})

describe('an image that the upstream sees is not called omitted', () => {
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } }
  for (const kind of ['seeing', 'seeing-lists'] as const) {
    for (const content of [[image], [text('look'), image]]) {
      test(`${kind}, ${content.length} parts`, async () => {
        const { sent } = await stage.ask('messages', kind, { messages: history(used('t1', content)) })
        expect(sent.text).toContain('data:image/png;base64,aGk=')
        expect(sent.text).not.toContain('omitted')
      })
    }
  }
})
