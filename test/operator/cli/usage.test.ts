import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Duet, startDuet } from '../../support/duet.ts'
import { CHAT, MESSAGES, post, user } from '../../support/http.ts'
import { idOf } from '../../support/wire.ts'
import { commandsFor, type Ran, readTable, shell, toward } from './run.ts'

let server: Duet
let duet: (...args: string[]) => Promise<Ran>
let json: ReturnType<typeof commandsFor>['json']
/** Request ids in the order of the calls. */
const ids: string[] = []
let team: { account: string; key: string; keyId: string }

const ask = async (path: string, model: string, text: string, key = server.key) => {
  const body = { model, max_tokens: 200, messages: user(text) }
  ids.push(idOf(await post(server, path, body, { key })))
  // Times are kept in milliseconds, and the list is by time.
  await Bun.sleep(2)
}

beforeAll(async () => {
  server = await startDuet()
  ;({ duet, json } = commandsFor(server))
  const { id: account } = await json('accounts', 'create', 'team-a', '--balance', '5')
  const { id: keyId, key } = await json('keys', 'create', '--name', 'ci', '--account', 'team-a')
  team = { account, keyId, key }
  await ask(CHAT, 'openai/gpt-4.1', 'Hello')
  await ask(MESSAGES, 'openai/gpt-4.1', 'Hello again')
  await ask(CHAT, 'openai/gpt-5-mini', 'Think', key)
  await ask(CHAT, 'openai/gpt-4.1', '[[error 500]]', key)
})
afterAll(() => server.stop())

describe('duet usage', () => {
  test('lists requests, newest first', async () => {
    const { code, out, err } = await duet('usage')
    expect([code, err]).toEqual([0, ''])
    const rows = readTable(out)
    expect(rows.map(row => row.REQUEST)).toEqual(ids.toReversed())
    expect(rows.map(row => row.STATUS)).toEqual(['upstream_error', 'ok', 'ok', 'ok'])
    expect(rows[1]).toMatchObject({ KEY: team.keyId, MODEL: 'openai/gpt-5-mini' })
    expect(Number(rows[1]?.OUTPUT)).toBeGreaterThan(0)
  })

  test('with --json prints what the API answered, with --quiet the ids', async () => {
    const { body } = await server.admin('GET', '/api/usage')
    expect(await json('usage')).toEqual(body)
    expect((await duet('usage', '--quiet', '--limit', '2')).out).toBe(`${ids.slice(2).toReversed().join('\n')}\n`)
  })

  const FILTERS: [what: string, options: () => string[], rows: number[]][] = [
    ['account', () => ['--account', 'team-a'], [3, 2]],
    ['key', () => ['--key', team.keyId], [3, 2]],
    ['model', () => ['--model', 'openai/gpt-4.1'], [3, 1, 0]],
    ['failure', () => ['--status', 'error'], [3]],
    ['success', () => ['--status', 'ok'], [2, 1, 0]],
    ['status', () => ['--status', 'upstream_error'], [3]],
    ['span', () => ['--since', '1h', '--account', 'team-a'], [3, 2]],
    ['beginning', () => ['--from', '2020-01-01', '--limit', '1'], [3]],
    ['end', () => ['--to', '1h'], []],
    ['beginning and end', () => ['--since', '2020-01-01', '--to', '2021-01-01T00:00:00Z'], []],
  ]
  for (const [what, options, wanted] of FILTERS) {
    test(`filters by ${what}`, async () => {
      const { data } = await json('usage', ...options())
      expect(data.map((row: { request_id: string }) => row.request_id)).toEqual(wanted.map(place => ids[place]))
    })
  }

  test('says so if there is nothing, and if there is more', async () => {
    expect(await duet('usage', '--to', '2020-01-01')).toEqual({ code: 0, out: '', err: 'no requests\n' })
    expect((await duet('usage', '--limit', '1')).err).toContain('there are more requests')
    expect((await json('usage', '--limit', '1')).next).toBeString()
  })

  test('of an account that is not there fails, and does not show everything', async () => {
    const { code, out, err } = await duet('usage', '--account', 'nobody')
    expect([code === 0, out, err]).toEqual([false, '', expect.stringMatching(/^duet: .*nobody.*\n$/)])
  })

  const FAULTS: [options: string[], message: string][] = [
    [['--since', 'yesterday'], '--since: "yesterday" is neither a span'],
    [['--to', '24hours'], '--to: "24hours" is neither a span'],
    [['--limit', '0'], '--limit: must be a number from 1'],
    [['--limit', 'all'], '--limit: must be a number from 1'],
    [['--since', '1h', '--from', '2h'], '--since and --from say the same'],
    [['--account', ''], '--account needs a value'],
    [['--by', 'model', '--limit', '3'], '--limit does not go with --by'],
    [['--by', ','], '--by needs a name'],
    [['summary'], '"summary" is no request'],
    [['abc', '--model', 'x'], '--model does not go with the id of a request'],
    [['abc', '--by', 'model'], '--by does not go with the id of a request'],
  ]
  for (const [options, message] of FAULTS) {
    test(`refuses ${options.join(' ')} with 2`, async () => {
      const { code, out, err } = await duet('usage', ...options)
      expect([code, out]).toEqual([2, ''])
      expect(err).toStartWith(`duet: ${message}`)
      expect(err).toContain('Usage: duet usage [<request>] [options]')
    })
  }
})

test('duet usage follows the cursor up to its limit', async () => {
  const busy = await startDuet()
  const body = { model: 'openai/gpt-4.1', max_tokens: 5, messages: user('Hello') }
  for (let calls = 0; calls < 520; calls += 40) {
    await Promise.all(Array.from({ length: 40 }, () => post(busy, CHAT, body)))
  }
  const { duet, json } = commandsFor(busy)
  const { data, next } = await json('usage', '--limit', '510')
  const times = data.map((row: { started_at: string }) => row.started_at)
  expect(new Set(data.map((row: { request_id: string }) => row.request_id)).size).toBe(510)
  expect(times).toEqual(times.toSorted().toReversed())
  expect(next).toBeString()
  expect((await json('usage', '--limit', '1000')).data).toHaveLength(520)
  expect(readTable((await duet('usage')).out)).toHaveLength(50)
  await busy.stop()
})

describe('duet usage --by', () => {
  test('sums, with a line for all of it', async () => {
    const { code, out } = await duet('usage', '--by', 'model,day')
    const rows = readTable(out)
    expect(code).toBe(0)
    expect(out.split('\n')[0]).toMatch(/^MODEL +DAY +REQUESTS +ERRORS +INPUT +CACHE READ +CACHE WRITE +OUTPUT +COST$/)
    expect(rows.find(row => row.MODEL === 'openai/gpt-4.1')).toMatchObject({ REQUESTS: '3', ERRORS: '1' })
    expect(out.trimEnd().split('\n').at(-1)).toMatch(/^total +4 +1 /)
  })

  test('adds up to its total, exactly', async () => {
    const { data, total } = await json('usage', '--by', 'model')
    const nanos = (cost: string) => BigInt(Math.round(Number(cost) * 1e9))
    expect(data.reduce((sum: bigint, row: { cost: string }) => sum + nanos(row.cost), 0n)).toBe(nanos(total.cost))
    expect(total.requests).toBe(4)
  })

  test('says which hours were summed', async () => {
    const { err } = await duet('usage', '--by', 'status', '--since', '24h')
    expect(err).toMatch(/^from \d{4}-\d\d-\d\dT\d\d:00:00Z to now, in whole hours\n$/)
  })

  test('with --json prints what the API answered, with --quiet the names', async () => {
    const { body } = await server.admin('GET', '/api/usage/summary?by=status,model&account=team-a')
    expect(await json('usage', '--by', 'status,model', '--account', 'team-a')).toEqual(body)
    const { out } = await duet('usage', '--by', 'status,model', '--account', 'team-a', '--quiet')
    expect(out.trim().split('\n').toSorted()).toEqual(['ok\topenai/gpt-5-mini', 'upstream_error\topenai/gpt-4.1'])
  })

  test('what cannot be summed by ends with 1 and the names that can', async () => {
    const { code, err } = await duet('usage', '--by', 'colour')
    expect([code, err]).toEqual([1, expect.stringMatching(/^duet: by: colour is not one of day, .*model/)])
  })
})

describe('duet usage <request>', () => {
  test('is a receipt that can be checked by hand', async () => {
    const [id = ''] = ids
    const { code, out, err } = await duet('usage', id)
    expect([code, err]).toEqual([0, ''])
    const { body } = await server.admin('GET', `/api/usage/${id}`)
    const { arithmetic, entry, hold, tokens, price, timings } = body.receipt
    expect(out).toStartWith(`Request ${id}\n`)
    expect(out).toMatch(/^ {2}status +ok, ended by stop$/m)
    expect(out).toMatch(/^ {2}protocol +chat to chat, whole$/m)
    expect(out).toMatch(new RegExp(`^ {2}held +\\$${hold.amount}$`, 'm'))
    expect(out).toMatch(new RegExp(`^ {2}given back +\\$${hold.returned}$`, 'm'))
    expect(out).toMatch(/^ {2}source +upstream: /m)
    expect(out).toContain(`Price version ${price.version}, in force since`)
    const { output } = tokens
    expect(out).toMatch(new RegExp(`^ {2}output +${output} +${price.output} +${arithmetic.lines[3].amount}0*$`, 'm'))
    for (const name of ['sum', 'rounding', 'total']) {
      expect(out).toMatch(new RegExp(`^ {2}${name} +${arithmetic[name]}0*$`, 'm'))
    }
    expect(out).toMatch(new RegExp(`^ {2}number +${entry.id}$`, 'm'))
    expect(out).toContain(entry.hash)
    expect(out).toMatch(/^ {2}sandbox-chat +chat +ok +\d+ +\d+$/m)
    expect(out).toMatch(new RegExp(`^ {2}ended +${timings.ended_at}, after ${timings.duration_ms} ms$`, 'm'))
  })

  test('says what part of the output was reasoning', async () => {
    const { out } = await duet('usage', ids[2] ?? '')
    expect(out).toMatch(/^ {2}output +\d+, of which reasoning \d+$/m)
  })

  test('says so if nothing was charged', async () => {
    const { out } = await duet('usage', ids[3] ?? '')
    expect(out).toContain('none: nothing was charged')
    expect(out).toMatch(/^ {2}status +upstream_error$/m)
  })

  test('of a request that was sent nowhere is short', async () => {
    const { id: keyId, key } = await json('keys', 'create', '--name', 'slow', '--max-per-minute', '1')
    const body = { model: 'openai/gpt-4.1', messages: user('Hello') }
    await post(server, MESSAGES, { ...body, max_tokens: 9 }, { key })
    const refused = await post(server, MESSAGES, { ...body, max_tokens: 9 }, { key })
    expect(refused.status).toBe(429)
    const { out } = await duet('usage', idOf(refused))
    const names = out
      .trimEnd()
      .split('\n')
      .slice(1)
      .map(line => line.trim().split(/ {2,}/)[0])
    expect(names).toEqual(['status', 'error', 'protocol', 'account', 'key', 'time'])
    expect(out).toMatch(/^ {2}status +rate_limited: it was sent to no upstream, and nothing was charged$/m)
    expect(out).toMatch(/^ {2}error +This key has made as many requests/m)
    expect(out).toMatch(/^ {2}protocol +messages$/m)
    expect(out).toMatch(new RegExp(`^ {2}key +${keyId}$`, 'm'))
  })

  test('with --json prints what the API answered, with --quiet the id', async () => {
    const [id = ''] = ids
    expect(await json('usage', id)).toEqual((await server.admin('GET', `/api/usage/${id}`)).body)
    expect((await duet('usage', id, '--quiet')).out).toBe(`${id}\n`)
  })

  test('of a request that is not there ends with 4', async () => {
    const { code, out, err } = await duet('usage', 'nosuchrequestatall')
    expect([code, out, err]).toEqual([4, '', 'duet: request nosuchrequestatall does not exist\n'])
  })
})

describe('a reader that leaves early', () => {
  test('gets its line, and nobody complains', async () => {
    const { out, err } = await shell('duet usage | head -1', { env: toward(server) })
    expect(out).toStartWith('TIME ')
    expect(err).toBe('')
  })

  test('is no failure, even if it has left before the first byte', async () => {
    const { out, err } = await shell('{ duet usage --json; echo "ended with $?" >&2; } | true', { env: toward(server) })
    expect([out, err]).toEqual(['', 'ended with 0\n'])
  })
})
