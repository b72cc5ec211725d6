import { describe, expect, test } from 'bun:test'
import { expectError } from '../../support/wire.ts'
import { call, calls, expectRefused, result, says, text, turnsOf, use, useKinds } from './stage.ts'

/** Section 1.2, steps 1 to 4: a chat history on its way to a messages upstream. */

const stage = useKinds({
  plain: { protocol: 'messages' },
  seeing: { protocol: 'messages', capabilities: { vision: true } },
  rejecting: { protocol: 'messages', model: { images: 'reject' } },
  blind: { protocol: 'messages', model: { images: 'forward' }, capabilities: { vision: false } },
  reading: { protocol: 'messages', capabilities: { documents: true } },
  mid: { protocol: 'messages', capabilities: { mid_system: true } },
})

type KindName = Parameters<typeof stage.ask>[1]

const ask = (messages: readonly object[], kind: KindName = 'plain', more: object = {}) =>
  stage.ask('chat', kind, { messages, ...more })
const sent = async (messages: readonly object[], kind: KindName = 'plain', more: object = {}) =>
  (await ask(messages, kind, more)).sent.body
const turns = async (messages: readonly object[], kind: KindName = 'plain') => turnsOf(await sent(messages, kind))

const Q = says('user', 'q')
const asked = { role: 'user', content: [text('q')] }
const image = (url: string) => ({ type: 'image_url', image_url: { url } })
const PIXEL = 'iVBORw0KGgo='

describe('1: a leading run of system and developer messages', () => {
  test('is one text, joined by line ends, without the empty ones', async () => {
    const body = await sent([
      says('system', 'A'),
      says('developer', 'B'),
      says('system', ''),
      says('system', [text('C'), text('D')]),
      Q,
    ])
    expect(body.system).toBe('A\nB\nC\nD')
    expect(turnsOf(body)).toEqual([asked])
  })

  test('is a list where one of its parts carries a cache mark', async () => {
    const cache_control = { type: 'ephemeral' }
    const { system } = await sent([
      says('system', 'A'),
      says('developer', [text('B', { cache_control }), text('C')]),
      Q,
    ])
    expect(system).toEqual([text('A'), text('B', { cache_control }), text('C')])
  })

  test('that says nothing is nothing', async () => {
    expect(await sent([says('system', ''), says('developer', [text(' ')]), Q])).not.toHaveProperty('system')
  })
})

describe('2: a later word of the system', () => {
  const later = [
    says('system', 'A'),
    Q,
    says('assistant', 'a'),
    says('user', 'r'),
    says('developer', 'LATER'),
    says('assistant', 'b'),
    says('user', 's'),
  ]
  const reminder = text('<system-reminder>LATER</system-reminder>')

  test('keeps its place as a reminder of the user', async () => {
    const body = await sent(later)
    expect(body.system).toBe('A')
    const wrapped = JSON.parse(
      JSON.stringify(turnsOf(body)).replace(/<system-reminder>\\n|\\n<\/system-reminder>/g, tag =>
        tag.replace('\\n', ''),
      ),
    )
    expect(wrapped[2]).toEqual({ role: 'user', content: [text('r'), reminder] })
    expect(wrapped).toHaveLength(5)
  })

  test('is native where the upstream knows it and the place is legal', async () => {
    expect((await sent(later, 'mid')).messages[3]).toEqual({ role: 'system', content: 'LATER' })
    const last = await sent([Q, says('system', 'LAST')], 'mid')
    expect(last.messages.at(-1)).toEqual({ role: 'system', content: 'LAST' })
  })

  test('is a reminder where the place is not legal, whatever the upstream knows', async () => {
    const body = await sent([Q, says('assistant', 'a'), says('system', 'LATER'), says('user', 'r')], 'mid')
    expect(body.messages.map(({ role }: { role: string }) => role)).toEqual(['user', 'assistant', 'user'])
    expect(JSON.stringify(body.messages[2])).toMatch(/<system-reminder>.*LATER.*<\/system-reminder>.*"r"/)
  })

  for (const kind of ['plain', 'mid'] as const) {
    test(`between a call and its result moves behind the result, ${kind}`, async () => {
      const body = await sent(
        [Q, calls(call('c1')), says('system', 'LATER'), result('c1', 'r'), says('assistant', 'b'), says('user', 's')],
        kind,
      )
      expect(body.messages[1].content).toEqual([use('c1')])
      expect(body.messages[2].content[0]).toMatchObject({ type: 'tool_result', tool_use_id: 'c1' })
      expect(JSON.stringify(body.messages.slice(2, 4))).toContain('LATER')
      expect(body.messages.at(-2).role).toBe('assistant')
    })
  }
})

test('3: of system messages alone the last is the user’s turn', async () => {
  const body = await sent([says('system', 'A'), says('developer', 'B')])
  expect(body.system).toBe('A')
  expect(turnsOf(body)).toEqual([{ role: 'user', content: [text('B')] }])
  const single = await sent([says('system', 'A')])
  expect(turnsOf(single)).toEqual([{ role: 'user', content: [text('A')] }])
  expect(single).not.toHaveProperty('system')
})

describe('4: what a user says', () => {
  const PICTURES = [text('look'), image(`data:image/png;base64,${PIXEL}`), image('https://pics.example/a.jpg')]

  test('texts are text blocks', async () => {
    expect(await turns([says('user', [text('a'), text('b')])])).toEqual([
      { role: 'user', content: [text('a'), text('b')] },
    ])
  })

  test('images are blocks where they are seen', async () => {
    expect(await turns([says('user', PICTURES)], 'seeing')).toEqual([
      {
        role: 'user',
        content: [
          text('look'),
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } },
          { type: 'image', source: { type: 'url', url: 'https://pics.example/a.jpg' } },
        ],
      },
    ])
  })

  test('images in data addresses are base64, whatever else the address says', async () => {
    const [turn] = await turns([says('user', [image(`data:image/png;name=a.png;base64,${PIXEL}`)])], 'seeing')
    const source = { type: 'base64', media_type: 'image/png', data: PIXEL }
    expect(turn.content).toEqual([{ type: 'image', source }])
  })

  for (const kind of ['plain', 'blind'] as const) {
    test(`images are dropped and named where nobody sees them, ${kind}`, async () => {
      const played = await ask([says('user', PICTURES)], kind)
      expect(turnsOf(played.sent.body)).toEqual([{ role: 'user', content: [text('look')] }])
      expect(played.dropped).toEqual(['image'])
    })
  }

  test('images are refused to a strict caller, and by a model that rejects them', async () => {
    const played = await stage.ask('chat', 'plain', { messages: [says('user', PICTURES)] }, { strict: true })
    expectError(played, { status: 400, code: 'translation_lossy', message: /image/ })
    expect((await ask([says('user', PICTURES)], 'rejecting')).status).toBe(400)
  })

  test('an image alone leaves a word in its place', async () => {
    const [turn] = await turns([says('user', [image('https://pics.example/a.jpg')])])
    expect(turn.content).toHaveLength(1)
    expect(turn.content[0].text.trim()).not.toBe('')
  })

  test('a file is a document where documents are read', async () => {
    const file = { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } }
    const [turn] = await turns([says('user', [text('read'), file])], 'reading')
    expect(turn.content[1]).toMatchObject({
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
    })
    expectRefused(await ask([says('user', [text('read'), file])]), /^messages\[0\]/)
  })

  test('sound is refused', async () => {
    const audio = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }
    expectRefused(await ask([says('user', [audio])]), /^messages\[0\]/)
  })
})
