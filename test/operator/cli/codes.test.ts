import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Duet, startDuet } from '../../support/duet.ts'
import { commandsFor, type Ran, readTable } from './run.ts'

let server: Duet
let duet: (...args: string[]) => Promise<Ran>
let json: ReturnType<typeof commandsFor>['json']
beforeAll(async () => {
  server = await startDuet()
  ;({ duet, json } = commandsFor(server))
})
afterAll(() => server.stop())

const CODE = /^duet(-[0-9A-Z]{4}){4}$/

const redeem = (code: string) => server.admin('POST', '/api/codes/redeem', { code, account: 'default' })

describe('duet codes create', () => {
  test('prints the code alone to stdout, and everything else to stderr', async () => {
    const { code, out, err } = await duet('codes', 'create', '12.50')
    expect([code, out.trimEnd()]).toEqual([0, expect.stringMatching(CODE)])
    expect(err).toMatch(/^rc_\w+ \(duet-…-\w{4}\): \$12\.50$/m)
    expect(err).not.toContain(out.trim())
    expect((await redeem(out.trim())).body.amount).toBe('12.50')
  })

  test('makes many, one a line, with a note and an expiry', async () => {
    const options = ['--count', '3', '--note', 'workshop', '--expires', '30d']
    const { out } = await duet('codes', 'create', '5', ...options)
    const codes = out.trimEnd().split('\n')
    expect(codes).toHaveLength(3)
    expect(new Set(codes).size).toBe(3)
    for (const code of codes) expect(code).toMatch(CODE)
    const { data } = await json('codes', 'list', '--limit', '3')
    for (const row of data) {
      expect(row).toMatchObject({ amount: '5.00', note: 'workshop', redeemed_at: null })
      const days = (Date.parse(row.expires_at) - Date.now()) / 86_400_000
      expect(days).toBeGreaterThan(29.9)
      expect(days).toBeLessThan(30.1)
    }
  })

  test('with --quiet prints the codes and nothing else; with --json the whole answer', async () => {
    const quiet = await duet('codes', 'create', '1', '--quiet')
    expect([quiet.out.trim(), quiet.err]).toEqual([expect.stringMatching(CODE), ''])
    const { data, next } = await json('codes', 'create', '1', '--count', '2')
    expect([data.length, next]).toEqual([2, null])
  })

  test('says what is wrong', async () => {
    const faults: [args: string[], code: number, line: string][] = [
      [[], 2, 'duet: <amount> is missing'],
      [['-5'], 1, 'duet: amount: must be above zero'],
      [['5', '--count', 'many'], 2, 'duet: --count: must be a whole number from 1 to 500, not "many"'],
      [['5', '--count', '0'], 2, 'duet: --count: must be a whole number from 1 to 500, not "0"'],
      [['5', '--count', '501'], 2, 'duet: --count: must be a whole number from 1 to 500, not "501"'],
      [['5', '--expires', 'soon'], 2, 'duet: --expires: "soon" is neither a span'],
    ]
    for (const [args, code, line] of faults) {
      const ran = await duet('codes', 'create', ...args)
      expect([args, ran.code, ran.out, ran.err]).toEqual([args, code, '', expect.stringContaining(line)])
    }
  })
})

describe('duet codes list', () => {
  test('says who redeemed what', async () => {
    const { data } = await json('codes', 'create', '2', '--count', '2')
    const [open, used] = data
    await redeem(used.code)
    const { code, out } = await duet('codes', 'list')
    expect(code).toBe(0)
    const rows = new Map(readTable(out).map(row => [row.ID, row]))
    expect(rows.get(open.id)).toMatchObject({ HINT: open.hint, AMOUNT: '2.00', STATE: 'open', ACCOUNT: '-' })
    expect(rows.get(used.id)).toMatchObject({ STATE: 'redeemed', ACCOUNT: 'default' })
    expect(out).not.toContain(open.code)
  })
})

describe('duet codes revoke', () => {
  test('takes back a code that nobody has redeemed', async () => {
    const { data } = await json('codes', 'create', '2', '--count', '2')
    const [open, used] = data
    const { code, out } = await duet('codes', 'revoke', open.id)
    expect([code, out]).toEqual([0, `${open.id} is revoked\n`])
    expect((await redeem(open.code)).status).toBe(404)
    await redeem(used.code)
    const late = await duet('codes', 'revoke', used.id)
    expect([late.code, late.err]).toEqual([1, `duet: code ${used.id} was redeemed already\n`])
    expect((await duet('codes', 'revoke', 'rc_unknown')).code).toBe(4)
  })
})
