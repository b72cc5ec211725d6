import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Duet, startDuet } from '../../support/duet.ts'
import { CHAT, post, user } from '../../support/http.ts'
import { logged } from '../../support/log.ts'
import { configForBoth, scriptUpstream, VENDOR_KEY, VENDOR_MODEL } from '../../support/upstream.ts'
import { protocolOf, vendorAnswer, vendorError } from '../../support/vendor.ts'
import { commandsFor, type Ran, readTable } from './run.ts'

let server: Duet
let duet: (...args: string[]) => Promise<Ran>
let json: ReturnType<typeof commandsFor>['json']
let fails = false
const upstream = scriptUpstream(visit =>
  fails && protocolOf(visit) === 'messages'
    ? Response.json(vendorError('messages', 'the vendor is \u001b[31mdown'), { status: 500 })
    : vendorAnswer(visit),
)
beforeAll(async () => {
  const more = { more: 'aliases: { swift: acme/chat }' }
  server = await startDuet({
    config: configForBoth(upstream.base, more).replace('models:', 'models:\n  - id: acme/free'),
  })
  ;({ duet, json } = commandsFor(server))
})
afterAll(async () => {
  await server.stop()
  await upstream.stop()
})

describe('duet models', () => {
  test('lists prices and channels, and what has none', async () => {
    const { code, out } = await duet('models')
    expect(code).toBe(0)
    const rows = new Map(readTable(out).map(row => [row.ID, row]))
    expect(rows.get('acme/chat')).toMatchObject({
      INPUT: '1.00',
      OUTPUT: '4.00',
      VERSION: '1',
      ORIGIN: 'file',
      CHANNELS: 'acme-chat',
    })
    expect(rows.get('acme/free')).toMatchObject({ INPUT: 'no price', CHANNELS: 'none' })
  })

  test('with --json prints what the API answered, with --quiet the ids', async () => {
    const { body } = await server.admin('GET', '/api/models')
    expect(await json('models')).toEqual(body)
    const ids = body.data.map(({ id }: { id: string }) => id)
    expect((await duet('models', '--quiet')).out).toBe(`${ids.join('\n')}\n`)
  })
})

describe('duet channels list', () => {
  test('lists upstreams without their credentials', async () => {
    const { code, out } = await duet('channels', 'list')
    expect(code).toBe(0)
    expect(readTable(out)).toEqual([
      expect.objectContaining({ NAME: 'acme-chat', PROTOCOL: 'chat', 'BASE URL': upstream.base, MODELS: '2' }),
      expect.objectContaining({ NAME: 'acme-messages', PROTOCOL: 'messages', GROUPS: 'default', ORIGIN: 'file' }),
    ])
    expect(out).not.toContain(VENDOR_KEY)
    expect(await json('channels', 'list')).toEqual((await server.admin('GET', '/api/channels')).body)
    expect((await duet('channels', 'list', '--quiet')).out).toBe('acme-chat\nacme-messages\n')
  })

  test('has no column for problems where there are none', async () => {
    expect((await duet('channels', 'list')).out).not.toContain('PROBLEM')
  })
})

describe('duet channels test', () => {
  test('calls every channel in both protocols', async () => {
    fails = false
    const { code, out, err } = await duet('channels', 'test')
    expect([code, err]).toEqual([0, ''])
    expect(out.replace(/key \w+, \d+ ms/g, 'key 0, 0 ms')).toBe(
      [
        '✓ acme-chat (acme/chat)',
        '  ✓ chat to chat, key 0, 0 ms: "Good morning"',
        '  ✓ messages to chat, key 0, 0 ms: "Good morning"',
        '✓ acme-messages (acme/messages)',
        '  ✓ chat to messages, key 0, 0 ms: "Good morning"',
        '  ✓ messages to messages, key 0, 0 ms: "Good morning"',
        '',
      ].join('\n'),
    )
  })

  test('of one channel shows what was sent to it', async () => {
    fails = false
    const { out } = await duet('channels', 'test', 'acme-messages', '--model', 'acme/messages-seeing')
    expect(out).toContain('✓ acme-messages (acme/messages-seeing)')
    expect(out).toContain(`    sent {"model":"${VENDOR_MODEL}"`)
    expect(out).not.toContain(VENDOR_KEY)
  })

  test('ends with 3 if one does not answer, and says why', async () => {
    fails = true
    const { code, out, err } = await duet('channels', 'test')
    expect(code).toBe(3)
    expect(out).toMatch(/✓ acme-chat \(acme\/chat\)\n(.*\n){2}✗ acme-messages/)
    expect(out).toMatch(/✗ chat to messages, key \w+, \d+ ms: upstream_error: /)
    expect(out).not.toContain('\u001b')
    expect(err).toBe('duet: not every call was answered: acme-messages\n')
    expect((await duet('channels', 'test', 'acme-chat')).code).toBe(0)
    expect(await duet('channels', 'test', 'acme-messages', '--quiet')).toMatchObject({ code: 3, out: '' })
  })

  test('with --json prints what the API answered for one, and a list for all', async () => {
    fails = false
    const one = await json('channels', 'test', 'acme-chat')
    expect(one).toMatchObject({ channel: 'acme-chat', ok: true })
    expect(one.attempts).toHaveLength(2)
    const all = await json('channels', 'test')
    expect(all).toMatchObject({ data: [{ channel: 'acme-chat' }, { channel: 'acme-messages' }], next: null })
    fails = true
    const { code, out, err } = await duet('channels', 'test', '--json')
    expect(code).toBe(3)
    expect(JSON.parse(out).data[1]).toMatchObject({ channel: 'acme-messages', ok: false })
    expect(JSON.parse(err).error.code).toBe('unhealthy')
  })

  test('with a model calls the channels that serve it', async () => {
    fails = false
    expect((await json('channels', 'test', '--model', 'acme/chat')).data).toMatchObject([{ channel: 'acme-chat' }])
    expect(await duet('channels', 'test', '--model', 'acme/free')).toEqual({
      code: 4,
      out: '',
      err: 'duet: no channel serves acme/free\n',
    })
  })

  test('of a channel that is not there ends with 4', async () => {
    expect((await duet('channels', 'test', 'acme-nothing')).code).toBe(4)
  })
})

describe('duet channels pause and resume', () => {
  const stateOf = async (name: string) =>
    readTable((await duet('channels', 'list')).out).find(({ NAME }) => NAME === name)?.STATE

  test('keep calls from an upstream, and let them through again', async () => {
    const paused = await duet('channels', 'pause', 'acme-chat')
    expect([paused.code, paused.out]).toEqual([0, 'acme-chat is paused\n'])
    expect(await stateOf('acme-chat')).toBe('paused')
    const ask = { model: 'acme/chat', messages: user('Hello') }
    expect((await post(server, CHAT, ask)).status).not.toBe(200)
    const resumed = await duet('channels', 'resume', 'acme-chat')
    expect([resumed.code, resumed.out]).toEqual([0, 'acme-chat is used again\n'])
    expect(await stateOf('acme-chat')).not.toBe('paused')
    expect((await post(server, CHAT, ask)).status).toBe(200)
    expect(logged(server, 'catalog changed')).toMatchObject([
      { change: 'pause', of: 'acme-chat' },
      { change: 'resume', of: 'acme-chat' },
    ])
  })

  test('end with 4 for an upstream that does not exist', async () => {
    for (const command of ['pause', 'resume']) expect((await duet('channels', command, 'nowhere')).code).toBe(4)
  })
})
