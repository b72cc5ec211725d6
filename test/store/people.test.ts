import { beforeAll, describe, expect, test } from 'bun:test'
import type { NewInvite, Session } from '../../src/core/people.ts'
import { NOW, newAccount, newId, type Stores, useStores } from './stage.ts'

const openStores = useStores()

let stores: Stores

beforeAll(async () => {
  stores = await openStores()
})

const DAY_MS = 86_400_000

const inviteOf = (more: Partial<NewInvite> = {}): NewInvite => ({
  ...{ id: newId('inv'), tokenHash: newId('token'), kind: 'invite', role: 'member' },
  ...{ accountId: undefined, userId: undefined, name: undefined, createdAt: NOW, expiresAt: NOW + DAY_MS },
  ...more,
})

const personOf = (name: string) => ({ id: newId('usr'), name, password: `hash of ${name}`, createdAt: NOW })

const accountOf = (name: string) => ({ id: newId('acc'), name, group: 'default', createdAt: NOW })

async function newUser(role: 'admin' | 'member' = 'member', name = newId('user')) {
  const invite = inviteOf({ role })
  await stores.store.people.createInvite(invite)
  const accepted = await stores.store.people.accept(invite.tokenHash, personOf(name), accountOf(name))
  if (!('user' in accepted)) throw new Error(accepted.refused)
  return accepted.user
}

const sessionOf = (userId: string, more: Partial<Session> = {}) => ({
  ...{ id: newId('ses'), tokenHash: newId('cookie'), userId, createdAt: NOW, lastSeenAt: NOW },
  ...{ expiresAt: NOW + DAY_MS, address: '127.0.0.1', client: 'browser' },
  ...more,
})

describe('an invitation', () => {
  test('makes a user with an account of their own, and is used up', async () => {
    const { people, directory } = stores.store
    const invite = inviteOf({ name: 'Mei' })
    expect(await people.createInvite(invite)).toMatchObject({ id: invite.id, name: 'Mei', accountName: undefined })
    expect(await people.invites(NOW)).toContainEqual(expect.objectContaining({ id: invite.id }))
    const accepted = await people.accept(invite.tokenHash, personOf('Mei'), accountOf('mei’s'))
    expect(accepted).toMatchObject({ user: { name: 'Mei', role: 'member', accountName: 'mei’s', enabled: true } })
    expect(await directory.account('mei’s')).toBeDefined()
    expect(await people.invite(invite.tokenHash, NOW)).toBeUndefined()
    expect(await people.accept(invite.tokenHash, personOf('Mo'), accountOf('mo’s'))).toEqual({ refused: 'unknown' })
  })

  test('brings somebody to an account that exists', async () => {
    const { people } = stores.store
    const account = await newAccount(stores.store)
    const invite = inviteOf({ accountId: account.id })
    expect(await people.createInvite(invite)).toMatchObject({ accountName: account.name })
    const accepted = await people.accept(invite.tokenHash, personOf(newId('user')), accountOf('never'))
    expect(accepted).toMatchObject({ user: { accountId: account.id } })
    expect(await stores.store.directory.account('never')).toBeUndefined()
  })

  test('that is refused for a name leaves nothing behind, and can be used under another', async () => {
    const { people, directory } = stores.store
    await newUser('member', 'Ann')
    const invite = inviteOf()
    await people.createInvite(invite)
    expect(await people.accept(invite.tokenHash, personOf('aNN'), accountOf('second ann'))).toEqual({
      refused: 'name-taken',
    })
    expect(await directory.account('second ann')).toBeUndefined()
    const taken = await newAccount(stores.store)
    expect(await people.accept(invite.tokenHash, personOf('Bo'), accountOf(taken.name))).toEqual({
      refused: 'account-taken',
    })
    expect(await people.userNamed('Bo')).toBeUndefined()
    expect(await people.accept(invite.tokenHash, personOf('Bo'), accountOf('bo’s'))).toHaveProperty('user')
  })

  test('is accepted once when many accept it at the same time, wherever they are', async () => {
    const invite = inviteOf()
    await stores.store.people.createInvite(invite)
    const accepted = await Promise.all(
      Array.from({ length: 8 }, (_, place) => {
        const { people } = place % 2 ? stores.store : stores.other
        return people.accept(invite.tokenHash, personOf(`racer ${place}`), accountOf(`racer ${place}`))
      }),
    )
    expect(accepted.filter(outcome => 'user' in outcome)).toHaveLength(1)
    expect(accepted.filter(outcome => 'refused' in outcome && outcome.refused === 'unknown')).toHaveLength(7)
  })

  test('one name is taken once when two want it at the same time', async () => {
    const invites = [inviteOf(), inviteOf()]
    for (const invite of invites) await stores.store.people.createInvite(invite)
    const accepted = await Promise.all(
      invites.map(({ tokenHash }, place) => {
        const { people } = place ? stores.store : stores.other
        return people.accept(tokenHash, personOf(place ? 'twin' : 'TWIN'), accountOf(`twin ${place}`))
      }),
    )
    expect(accepted.map(outcome => ('user' in outcome ? 'user' : outcome.refused)).sort()).toEqual([
      'name-taken',
      'user',
    ])
  })

  test('of a new password takes the place of the one before', async () => {
    const { people } = stores.store
    const user = await newUser()
    const [first, second] = [inviteOf({ kind: 'reset', userId: user.id }), inviteOf({ kind: 'reset', userId: user.id })]
    await people.createInvite(first)
    expect(await people.createInvite(second)).toMatchObject({ name: user.name })
    expect(await people.reset(first.tokenHash, 'new', NOW)).toBeUndefined()
    expect(await people.createSession(sessionOf(user.id), user.password)).toBe(true)
    expect(await people.reset(second.tokenHash, 'new', NOW)).toMatchObject({ id: user.id, password: 'new' })
    expect(await people.sessions(user.id, NOW)).toEqual([])
  })

  test('can be taken back, expires, and is forgotten but for the first of all', async () => {
    const { people } = stores.store
    const [revoked, expired, first] = [inviteOf(), inviteOf({ expiresAt: NOW + 1 }), inviteOf({ kind: 'first' })]
    for (const invite of [revoked, expired, first]) await people.createInvite(invite)
    expect(await people.revokeInvite(revoked.id)).toBe(true)
    expect(await people.revokeInvite(revoked.id)).toBe(false)
    expect(await people.invite(revoked.tokenHash, NOW)).toBeUndefined()
    expect(await people.invite(expired.tokenHash, NOW)).toBeDefined()
    expect(await people.invite(expired.tokenHash, NOW + 1)).toBeUndefined()
    await people.sweep(NOW + 2 * DAY_MS)
    expect(await people.invites(NOW)).toEqual([expect.objectContaining({ id: first.id })])
    expect(await people.hadInvite('first')).toBe(true)
  })
})

describe('a user', () => {
  test('is found by id and by name, whatever the case of its Latin letters', async () => {
    const { people } = stores.store
    const user = await newUser('member', 'Zoë ÄB')
    expect(await people.hasUsers()).toBe(true)
    expect(await people.user(user.id)).toEqual(user)
    expect(await people.userNamed('zOë Äb')).toEqual(user)
    expect(await people.userNamed('zoë äb')).toBeUndefined()
    expect(await people.userNamed('zo\0ë äb')).toBeUndefined()
  })

  test('is changed in what is given, and not to a name that somebody has', async () => {
    const { people } = stores.store
    const [user, somebody] = [await newUser(), await newUser()]
    expect(await people.changeUser(user.id, { password: 'new' })).toMatchObject({ name: user.name, password: 'new' })
    expect(await people.changeUser(user.id, { name: somebody.name.toUpperCase() })).toBe('name-taken')
    expect(await people.changeUser(user.id, { name: user.name.toUpperCase() })).toMatchObject({ password: 'new' })
    expect(await people.changeUser('nobody', {})).toBe('unknown')
  })

  test('who is disabled has no sessions and no links any more', async () => {
    const { people } = stores.store
    const user = await newUser()
    const [session, link] = [sessionOf(user.id), inviteOf({ kind: 'reset', userId: user.id })]
    await people.createSession(session, user.password)
    await people.createInvite(link)
    expect(await people.session(session.tokenHash, NOW)).toMatchObject({ user: { id: user.id } })
    await people.changeUser(user.id, { enabled: false })
    expect(await people.session(session.tokenHash, NOW)).toBeUndefined()
    expect(await people.invite(link.tokenHash, NOW)).toBeUndefined()
    expect(await people.createSession(sessionOf(user.id), user.password)).toBe(false)
  })

  test('all are listed, page by page', async () => {
    const { people } = stores.store
    await newUser()
    const ids: string[] = []
    for (let cursor: string | undefined, isFirst = true; isFirst || cursor; isFirst = false) {
      const { rows, next } = await people.users({ cursor, limit: 3 })
      ids.push(...rows.map(({ id }) => id))
      cursor = next
    }
    expect(ids).toEqual((await people.users({ cursor: undefined, limit: 1_000 })).rows.map(({ id }) => id))
    expect(new Set(ids).size).toBe(ids.length)
  })
})

describe('admins', () => {
  test('one stays when two demote each other at the same time', async () => {
    const { store, other } = await openStores()
    const ids: string[] = []
    for (const name of ['one', 'two']) {
      const invite = inviteOf({ role: 'admin' })
      await store.people.createInvite(invite)
      const person = personOf(name)
      await store.people.accept(invite.tokenHash, person, accountOf(name))
      ids.push(person.id)
    }
    const [one = '', two = ''] = ids
    const outcomes = await Promise.all([
      store.people.changeUser(one, { role: 'member' }),
      other.people.changeUser(two, { enabled: false }),
    ])
    expect(outcomes.filter(outcome => outcome === 'last-admin')).toHaveLength(1)
    const { rows } = await store.people.users({ cursor: undefined, limit: 10 })
    expect(rows.filter(({ role, enabled }) => role === 'admin' && enabled)).toHaveLength(1)
  })
})

describe('a session', () => {
  test('begins with the password of this moment, and is seen until it ends', async () => {
    const { people } = stores.store
    const user = await newUser()
    const session = sessionOf(user.id)
    expect(await people.createSession(session, 'another')).toBe(false)
    expect(await people.createSession(session, user.password)).toBe(true)
    expect(await people.session(session.tokenHash, NOW)).toMatchObject({
      session: { id: session.id, userId: user.id, address: '127.0.0.1', createdAt: NOW },
      user: { ...user, lastSeenAt: NOW },
    })
    const sighting = { lastSeenAt: NOW + 5, expiresAt: NOW + 10, address: '::1', client: 'other' }
    await people.seen(session.id, sighting)
    expect(await people.sessions(user.id, NOW)).toEqual([expect.objectContaining({ id: session.id, ...sighting })])
    expect((await people.user(user.id))?.lastSeenAt).toBe(NOW + 5)
    expect(await people.session(session.tokenHash, NOW + 10)).toBeUndefined()
    expect(await people.endSession('somebody', session.id)).toBe(false)
    expect(await people.endSession(user.id, session.id)).toBe(true)
    expect(await people.session(session.tokenHash, NOW)).toBeUndefined()
  })

  test('of too many the oldest ends; and all end but one, where that is asked for', async () => {
    const { people } = stores.store
    const user = await newUser()
    const sessions = Array.from({ length: 51 }, (_, place) => sessionOf(user.id, { lastSeenAt: NOW + place }))
    for (const session of sessions) await people.createSession(session, user.password)
    const ids = (await people.sessions(user.id, NOW)).map(({ id }) => id)
    expect(ids).toEqual(
      sessions
        .slice(1)
        .map(({ id }) => id)
        .reverse(),
    )
    await people.endSessions(user.id, ids[7])
    expect((await people.sessions(user.id, NOW)).map(({ id }) => id)).toEqual([ids[7] ?? ''])
    await people.endSessions(user.id, undefined)
    expect(await people.sessions(user.id, NOW)).toEqual([])
  })

  test('begins for each of many that begin at the same time', async () => {
    const user = await newUser()
    const made = await Promise.all(
      Array.from({ length: 10 }, (_, place) => {
        const { people } = place % 2 ? stores.store : stores.other
        return people.createSession(sessionOf(user.id), user.password)
      }),
    )
    expect(made).toEqual(Array.from({ length: 10 }, () => true))
    expect(await stores.store.people.sessions(user.id, NOW)).toHaveLength(10)
  })
})
