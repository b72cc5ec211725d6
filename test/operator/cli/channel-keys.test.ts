import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Duet, type JsonBody, startDuet } from '../../support/duet.ts'
import { CHAT, post, user } from '../../support/http.ts'
import { scriptUpstream, type UpstreamVisit } from '../../support/upstream.ts'
import { vendorAnswer, vendorError } from '../../support/vendor.ts'
import { commandsFor, type Ran, readTable, run, runOnTerminal, toward } from './run.ts'

const GOOD_KEY = 'vendor-key-that-is-good'
const BAD_KEY = 'vendor-key-that-is-bad'
const REFUSED = 'The upstream refused the credential of this gateway'
/** A refused key rests for seconds, and may have done so when it is looked at. */
const SOON = /^(\d{4}-|next request)/
/** With it, a line fills the terminal. */
const LONG_NAME = `broken-${'x'.repeat(57)}`

let badKeyWorks = false
const answer = (visit: UpstreamVisit): Response => {
  if (visit.path.startsWith('/v1/broken')) return Response.json(vendorError('chat', 'no'), { status: 500 })
  const isRefused = !badKeyWorks && visit.headers.get('authorization') === `Bearer ${BAD_KEY}`
  return isRefused ? Response.json(vendorError('chat', 'no'), { status: 401 }) : vendorAnswer(visit)
}
const upstream = scriptUpstream(answer)

const config = `
models:
  - { id: acme/multi, price: { input: 1, output: 4 } }
  - { id: acme/broken, price: { input: 1, output: 4 } }
channels:
  - name: multi
    protocol: chat
    base_url: ${upstream.base}
    api_keys: [${GOOD_KEY}, ${BAD_KEY}]
    models: { acme/multi: x }
  - name: ${LONG_NAME}
    protocol: chat
    base_url: ${upstream.base}/broken
    api_key: ${GOOD_KEY}
    models: { acme/broken: x }
    breaker: { failures: 1, cool_down: 10m, cool_down_max: 60m }
`

let server: Duet
let duet: (...args: string[]) => Promise<Ran>
let json: ReturnType<typeof commandsFor>['json']
let badKeyId = ''
beforeAll(async () => {
  server = await startDuet({ config })
  ;({ duet, json } = commandsFor(server))
  for (const model of ['acme/multi', 'acme/multi', 'acme/broken']) {
    await post(server, CHAT, { model, messages: user('Hello') })
  }
  const { keys } = await channelNamed('multi')
  badKeyId = keys.find(({ health }: JsonBody) => health.refused).id
})
afterAll(async () => {
  await server.stop()
  await upstream.stop()
})

const channelNamed = async (name: string): Promise<JsonBody> =>
  (await server.admin('GET', '/api/channels')).body.data.find((channel: JsonBody) => channel.name === name)

describe('duet channels list', () => {
  test('says why a channel is not well, and that keys were refused', async () => {
    const [multi, broken] = readTable((await duet('channels', 'list')).out)
    expect(multi).toMatchObject({ STATE: 'degraded', KEYS: expect.stringMatching(/, 1 refused$/), PROBLEM: REFUSED })
    expect(broken).toMatchObject({ STATE: 'down', KEYS: '1', PROBLEM: 'The upstream failed (HTTP 500)' })
  })

  test('is what duet channels alone means', async () => {
    expect(await duet('channels')).toEqual(await duet('channels', 'list'))
    expect(await json('channels')).toEqual(await json('channels', 'list'))
  })

  test('shortens the reason on a terminal, where the rest of a line has filled it', async () => {
    const { code, seen } = await runOnTerminal(['channels', 'list'], { env: { ...toward(server), NO_COLOR: '1' } })
    expect(code).toBe(0)
    expect(seen).toContain(`${REFUSED.slice(0, 23)}…`)
    expect(seen).not.toContain(REFUSED)
  })
})

describe('duet channels show', () => {
  test('says of each key whether it is used, when it is tried again, and what went wrong', async () => {
    const { code, out } = await duet('channels', 'show', 'multi')
    expect(code).toBe(0)
    expect(out).toMatch(/^state +degraded$/m)
    expect(out).toMatch(/^models +acme\/multi$/m)
    const keys = new Map(readTable(out.slice(out.indexOf('KEY '))).map(row => [row.KEY, row]))
    expect(keys.size).toBe(2)
    expect(keys.get(badKeyId)?.HINT).toBe(`…${BAD_KEY.slice(-4)}`)
    expect(keys.get(badKeyId)?.STATE).toMatch(/^(down|degraded), refused$/)
    expect(keys.get(badKeyId)?.['TRIED AGAIN']).toMatch(SOON)
    expect(keys.get(badKeyId)?.['LAST ERROR']).toStartWith(`${REFUSED} (`)
    keys.delete(badKeyId)
    expect([...keys.values()]).toMatchObject([{ STATE: 'healthy', 'TRIED AGAIN': '-', 'LAST ERROR': '-' }])
    for (const secret of [GOOD_KEY, BAD_KEY]) expect(out).not.toContain(secret)
  })

  test('of one that is left alone as a whole says so', async () => {
    const { out } = await duet('channels', 'show', LONG_NAME)
    expect(out).toMatch(/^state +down$/m)
    expect(out).toMatch(/^tried again +\d{4}-/m)
    expect(out).toMatch(/^last error +The upstream failed \(HTTP 500\) \(\d{4}-/m)
  })

  test('with --json prints what the API said of it, with --quiet its name', async () => {
    expect(await json('channels', 'show', 'multi')).toEqual(await channelNamed('multi'))
    expect((await duet('channels', 'show', 'multi', '--quiet')).out).toBe('multi\n')
  })

  test('of one that is not there ends with 4', async () => {
    const missing = await duet('channels', 'show', 'nowhere')
    expect(missing).toEqual({ code: 4, out: '', err: 'duet: channel nowhere does not exist\n' })
  })
})

// The last ones, for an answer brings the key back.
describe('a key that is out', () => {
  test('is tested, by its name', async () => {
    const { code, out } = await duet('channels', 'test', 'multi')
    expect(code).toBe(3)
    expect(out).toMatch(new RegExp(`✗ chat to chat, key ${badKeyId}, \\d+ ms: upstream_auth_failed: `))
    const { attempts } = JSON.parse((await duet('channels', 'test', 'multi', '--json')).out)
    expect(attempts.map(({ key }: JsonBody) => key)).toEqual([badKeyId, badKeyId])
  })

  test('is something for the doctor to point at, and no failure while another key works', async () => {
    const diagnose = async () => (await run(['doctor'], { cwd: server.folder, env: toward(server) })).out
    const warned = await diagnose()
    expect(warned).toMatch(/^! channel multi +answers for acme\/multi, but not with every key$/m)
    const [, again = ''] =
      new RegExp(`^ {4}- key ${badKeyId} \\(.+\\) was refused .*; tried again: (.*)`, 'm').exec(warned) ?? []
    expect(again).toMatch(SOON)
    expect(warned).toMatch(/^✗ channel broken-x+ +does not answer for acme\/broken$/m)

    badKeyWorks = true
    expect(await diagnose()).toMatch(/^✓ channel multi +answers for acme\/multi, to callers of both protocols$/m)
    const { keys } = await channelNamed('multi')
    expect(keys.map(({ health }: JsonBody) => health.breaker)).toEqual(['closed', 'closed'])
  })
})

test('duet usage shows how many upstreams were asked, where some request needed more than one', async () => {
  const { out } = await duet('usage')
  expect(readTable(out).map(row => row.ATTEMPTS)).toEqual(['1', '2', '1'])
  expect((await duet('usage', '--model', 'acme/broken')).out).not.toContain('ATTEMPTS')
})
