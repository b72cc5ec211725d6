import { z } from 'zod'
import type { Directory } from '../core/directory.ts'
import { newApiKey } from '../core/ids.ts'
import { newKey } from '../core/key.ts'
import { dollars, formatDollars } from '../core/money.ts'
import type { Attempts } from './attempts.ts'
import { chosenAccount } from './chosen-account.ts'
import { PlaygroundKeyView } from './contract.ts'
import { read, text } from './input.ts'
import { type Actor, created, type Routes } from './route.ts'

export interface PlaygroundDeps {
  readonly directory: Directory
  readonly clock: () => number
  readonly playing: Attempts
}

/** The secret is in a browser's memory: this is the most that whoever gets hold of it can spend. */
const CAP = dollars(1)
const LIFE_MS = 3_600_000
/** Open pages of one account at once; a new one makes the oldest ask again. */
const ALIVE_MAX = 20

const PLAYGROUND_KEY = z.strictObject({ account: text.min(1).optional() })

async function createPlaygroundKey(body: unknown, actor: Actor, deps: PlaygroundDeps): Promise<PlaygroundKeyView> {
  const { directory, clock } = deps
  const { account: wanted } = read(PLAYGROUND_KEY, body)
  const account = await chosenAccount(wanted, actor, directory)
  await deps.playing.begin(account.id)
  const secret = newApiKey()
  const now = clock()
  const expiresAt = now + LIFE_MS
  const key = await directory.createKey({
    ...newKey(secret, { accountId: account.id, name: 'playground', createdAt: now }),
    cap: CAP,
    expiresAt,
    kind: 'playground',
    // Whoever's money it spends, it is an admin who reads the answers.
    isAdmins: actor.role === 'admin',
  })
  await directory.keepPlaygroundKeys(account.id, ALIVE_MAX, now)
  return { id: key.id, key: secret, cap: formatDollars(CAP), expires_at: new Date(expiresAt).toISOString() }
}

export const playgroundRoutes: Routes<PlaygroundDeps> = {
  'POST /playground/key': {
    access: 'member',
    summary: 'A key for an hour and a dollar, for calls from the console; not listed among the keys',
    body: PLAYGROUND_KEY,
    answers: { 201: PlaygroundKeyView },
    errors: [429],
    handle: async ({ json, actor, deps }) => created(await createPlaygroundKey(await json(), actor, deps)),
  },
}
