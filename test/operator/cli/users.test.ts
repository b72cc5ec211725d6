import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Duet, startDuet } from '../../support/duet.ts'
import { acceptLink, inviteMember, knock, signIn } from '../../support/people.ts'
import { commandsFor, type Ran, readTable } from './run.ts'

let server: Duet
let duet: (...args: string[]) => Promise<Ran>
let json: ReturnType<typeof commandsFor>['json']
beforeAll(async () => {
  server = await startDuet()
  ;({ duet, json } = commandsFor(server))
})
afterAll(() => server.stop())

const LINK = /^http:\/\/127\.0\.0\.1:\d+\/console\/welcome#[\w-]{43}$/
const PASSWORD = 'a long enough password'

describe('duet users invite', () => {
  test('prints the link alone to stdout, and everything else to stderr', async () => {
    const { code, out, err } = await duet('users', 'invite')
    expect(code).toBe(0)
    expect(out.trimEnd()).toMatch(LINK)
    expect(err).toMatch(/^a link for a new member with an account of their own, until 20\S+Z$/m)
    expect(err).not.toContain(out.trim())
    const person = await acceptLink(server, out.trim(), { name: 'grace', password: PASSWORD })
    expect(person.session.user).toMatchObject({ name: 'grace', role: 'member', account_name: 'grace' })
  })

  test('takes a role, an account and a name', async () => {
    await duet('accounts', 'create', 'team-a')
    const { out, err } = await duet('users', 'invite', '--role', 'admin', '--account', 'team-a', '--name', 'ada')
    expect(err).toContain('a link for ada, a new admin, of account team-a')
    const person = await acceptLink(server, out.trim(), { password: PASSWORD })
    expect(person.session.user).toMatchObject({ name: 'ada', role: 'admin', account_name: 'team-a' })
  })

  test('with --quiet prints the link and nothing else; with --json the whole answer', async () => {
    const quiet = await duet('users', 'invite', '--quiet')
    expect([quiet.out.trim(), quiet.err]).toEqual([expect.stringMatching(LINK), ''])
    expect(await json('users', 'invite')).toMatchObject({ kind: 'invite', role: 'member', account: null })
  })

  test('says what the server refuses', async () => {
    const role = await duet('users', 'invite', '--role', 'emperor')
    expect([role.code, role.out, role.err]).toEqual([1, '', 'duet: role: must be admin or member\n'])
    const account = await duet('users', 'invite', '--account', 'nowhere')
    expect([account.code, account.err]).toEqual([1, 'duet: account: there is no account nowhere\n'])
  })
})

describe('duet users list', () => {
  test('lists everyone who can sign in', async () => {
    const { name } = await inviteMember(server, 'linus')
    const { code, out } = await duet('users', 'list')
    expect(code).toBe(0)
    const row = readTable(out).find(({ NAME }) => NAME === name)
    expect(row).toMatchObject({ ROLE: 'member', ACCOUNT: 'linus', STATE: 'enabled' })
    const { body } = await server.admin('GET', '/api/users?limit=500')
    expect(await json('users', 'list')).toEqual({ data: body.data, next: null })
  })
})

describe('duet users disable and enable', () => {
  test('shut somebody out, by name, and let them in again', async () => {
    const person = await inviteMember(server, 'edsger')
    const disabled = await duet('users', 'disable', 'Edsger')
    expect([disabled.code, disabled.out]).toEqual([0, `edsger (${person.session.user.id}) is shut out\n`])
    expect((await person.call('GET', '/api/session')).status).toBe(401)
    const enabled = await duet('users', 'enable', person.session.user.id)
    expect([enabled.code, enabled.out]).toEqual([0, `edsger (${person.session.user.id}) may sign in\n`])
    expect((await signIn(server, { name: 'edsger', password: 'the password of edsger' })).name).toBe('edsger')
  })

  test('end with 4 for somebody who does not exist', async () => {
    for (const command of ['disable', 'enable', 'reset']) {
      const { code, err } = await duet('users', command, 'nobody')
      expect([command, code, err]).toEqual([command, 4, 'duet: user nobody does not exist\n'])
    }
  })
})

describe('duet users reset', () => {
  test('prints a link that sets a new password', async () => {
    await inviteMember(server, 'barbara')
    const { code, out, err } = await duet('users', 'reset', 'barbara')
    expect([code, out.trimEnd()]).toEqual([0, expect.stringMatching(LINK)])
    expect(err).toContain('a link for a new password of barbara')
    await acceptLink(server, out.trim(), { password: PASSWORD })
    expect((await signIn(server, { name: 'barbara', password: PASSWORD })).name).toBe('barbara')
    const before = await knock(server, '/api/session', { name: 'barbara', password: 'the password of barbara' })
    expect(before.status).toBe(401)
  })
})
