import { afterAll, beforeAll, expect } from 'bun:test'
import { join } from 'node:path'
import type { AccountView, EntryView, TokensView, UsageView, VerifyView } from '../../src/admin/contract.ts'
import { STORE, storeEnv } from '../support/databases.ts'
import { type Duet, type JsonBody, startDuet } from '../support/duet.ts'
import { user } from '../support/http.ts'
import { type ScriptedUpstream, scriptUpstream, type UpstreamVisit } from '../support/upstream.ts'
import { eventually, PATHS, PROTOCOLS, type ProtocolName } from '../support/wire.ts'

// ── amounts ─────────────────────────────────────────────────────────────────────────────────────────────────────────
// By hand, and not with the product's own functions: a mistake in there must not agree with itself.

/** Nano-dollars of an amount as the management API and the bills write it. */
export function nanosOf(amount: string): bigint {
  const match = /^(-?)(\d+)\.(\d{2,9})$/.exec(amount)
  if (!match) throw new Error(`${amount} is no amount`)
  const [, sign, whole = '', fraction = ''] = match
  return BigInt(`${sign}${whole}${fraction.padEnd(9, '0')}`)
}

/** The other way round, for what is not below zero. */
export function dollarsOf(nanos: bigint): string {
  const digits = nanos.toString().padStart(10, '0')
  return `${digits.slice(0, -9)}.${digits.slice(-9)}`
}

const sumOf = (amounts: readonly string[]): bigint => amounts.reduce((sum, amount) => sum + nanosOf(amount), 0n)

/** Dollars per million tokens, and the same in nano-dollars. Five tokens of output do not come to whole ones. */
export const PRICE_LINE = '{ input: 0.35, cache_read: 0.035, cache_write: 0.4375, output: 1.4000007 }'
const PRICE = { input: 350_000_000n, cache_read: 35_000_000n, cache_write: 437_500_000n, output: 1_400_000_700n }

export type Tokens = Omit<TokensView, 'reasoning'>

/** What tokens cost at the price of `stageConfig`, in nano-dollars: one rounding, upwards. */
export function costOf(tokens: Partial<Tokens>): bigint {
  const { input = 0, cache_read = 0, cache_write = 0, output = 0 } = tokens
  const millionths =
    BigInt(input) * PRICE.input +
    BigInt(cache_read) * PRICE.cache_read +
    BigInt(cache_write) * PRICE.cache_write +
    BigInt(output) * PRICE.output
  return (millionths + 999_999n) / 1_000_000n
}

/** How many tokens of output so much money buys. */
export const affordableTokens = (nanos: bigint): number => Number((nanos * 1_000_000n) / PRICE.output)

/** The gateway's estimate of plain text: four characters a token. */
export const tokensIn = (text: string): number => Math.ceil(text.length / 4)

/** What is estimated of a request: what the model reads of it. */
export const promptTokensIn = ({ messages, tools }: JsonBody): number =>
  tokensIn(JSON.stringify(messages) + (tools ? JSON.stringify(tools) : ''))

// ── who asks whom ───────────────────────────────────────────────────────────────────────────────────────────────────

interface Pair {
  readonly client: ProtocolName
  readonly upstream: ProtocolName
}

export const PAIRS: readonly Pair[] = PROTOCOLS.flatMap(client => PROTOCOLS.map(upstream => ({ client, upstream })))

export interface Way extends Pair {
  readonly stream: boolean
}

export const WAYS: readonly Way[] = PAIRS.flatMap(pair => [false, true].map(stream => ({ ...pair, stream })))

export const WHOLE = WAYS.filter(({ stream }) => !stream)
export const STREAMED = WAYS.filter(({ stream }) => stream)

export const nameOf = ({ client, upstream, stream }: Pair & { stream?: boolean }): string =>
  `${client} client, ${upstream} upstream${stream === undefined ? '' : stream ? ', streamed' : ', whole'}`

export const pathOf = ({ client }: Pair): string => PATHS[client]

/** A request in the words of the client's protocol that asks to be told what it cost. */
export const requestFor = ({ upstream, client, stream }: Way, content: string, more: object = {}): JsonBody => ({
  model: `acme/${upstream}`,
  max_tokens: 1000,
  messages: user(content),
  stream,
  ...(stream && client === 'chat' ? { stream_options: { include_usage: true } } : {}),
  ...more,
})

// ── a Duet before a scripted upstream ───────────────────────────────────────────────────────────────────────────────

export interface Stage {
  readonly duet: Duet
  readonly upstream: ScriptedUpstream
  /** What the upstream does until it is told otherwise. */
  answer: (visit: UpstreamVisit) => Response | Promise<Response>
}

/** `acme/chat` and `acme/messages`, each behind a channel that speaks what its name says and is asked however often it fails. */
export const stageConfig = (base: string, modelFields = ''): string => `
models:${PROTOCOLS.map(
  protocol => `
  - { id: acme/${protocol}, price: ${PRICE_LINE}${modelFields} }`,
).join('')}
channels:${PROTOCOLS.map(
  protocol => `
  - { name: acme-${protocol}, protocol: ${protocol}, base_url: ${base}, models: [acme/${protocol}], breaker: false }`,
).join('')}
`

/** One Duet for the file, or for the `describe` it is called in. */
export function useStage(modelFields = ''): Stage {
  let duet: Duet | undefined
  let upstream: ScriptedUpstream | undefined
  beforeAll(async () => {
    upstream = scriptUpstream(visit => stage.answer(visit))
    duet = await startDuet({ config: stageConfig(upstream.base, modelFields) })
  })
  afterAll(async () => {
    await duet?.stop()
    await upstream?.stop()
  })
  const stage: Stage = {
    answer: () => new Response('nothing is scripted', { status: 500 }),
    get duet() {
      return started(duet)
    },
    get upstream() {
      return started(upstream)
    },
  }
  return stage
}

function started<T>(part: T | undefined): T {
  if (part === undefined) throw new Error('it has not started')
  return part
}

// ── the books ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** All that the management API has to say about an account. */
export interface Books {
  readonly account: AccountView
  readonly entries: readonly EntryView[]
  readonly rows: readonly UsageView[]
}

export async function booksOf(duet: Pick<Duet, 'admin'>, account: string): Promise<Books> {
  return {
    account: (await duet.admin('GET', `/api/accounts/${account}`)).body,
    entries: await allPages<EntryView>(duet, `/api/accounts/${account}/entries?`),
    rows: await allPages<UsageView>(duet, `/api/usage?account=${account}&`),
  }
}

/** Requests that were refused were sent nowhere. */
export const admittedIn = ({ rows }: Books): readonly UsageView[] => rows.filter(({ channel }) => channel !== '')

export const refusedIn = ({ rows }: Books): readonly UsageView[] => rows.filter(({ channel }) => channel === '')

/** The books once so many admitted requests are over and nothing is held; after a while, the books as they are. */
export const settledBooks = (duet: Pick<Duet, 'admin'>, account: string, requests: number): Promise<Books> =>
  eventually(
    () => booksOf(duet, account),
    books => admittedIn(books).length >= requests && books.account.held === '0.00',
  )

export const chargesIn = ({ entries }: Books): readonly EntryView[] => entries.filter(({ kind }) => kind === 'charge')

const PAGES_MAX = 1_000

export async function allPages<T>(duet: Pick<Duet, 'admin'>, path: string): Promise<T[]> {
  const all: T[] = []
  let cursor = ''
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    const { status, body } = await duet.admin('GET', `${path}limit=500${cursor}`)
    expect(status).toBe(200)
    all.push(...body.data)
    if (body.next === null) return all
    cursor = `&cursor=${body.next}`
  }
  throw new Error(`${path} has no end`)
}

/** What is true of every account at rest, whatever has happened to it. */
export function expectSound(books: Books): void {
  const { account, entries, rows } = books
  expect(account.held).toBe('0.00')
  expect(sumOf(entries.map(({ amount }) => amount))).toBe(nanosOf(account.balance))
  expect(entries.map(({ id }) => Number(id))).toEqual(entries.map((_, place) => entries.length - place))

  const charged = new Map(chargesIn(books).map(({ source, amount }) => [source, -nanosOf(amount)]))
  expect(charged.size).toBe(chargesIn(books).length)
  expect(new Set(rows.map(row => row.request_id)).size).toBe(rows.length)
  const bills = rows.filter(({ cost }) => cost !== '0.00').map(row => [row.request_id, nanosOf(row.cost)] as const)
  expect(new Map(bills)).toEqual(charged)
  expect(sumOf(rows.map(({ cost }) => cost))).toBe(nanosOf(account.spent))
}

/** The product's own opinion of its books: every charge, balance and sum computed again, and no hold left. */
export async function expectVerified(duet: Pick<Duet, 'admin'>): Promise<VerifyView> {
  const { status, body } = await duet.admin('GET', '/api/ledger/verify')
  expect({ status, ok: body.ok, problem: body.problem, open_holds: body.open_holds }).toEqual({
    ...{ status: 200, ok: true, problem: null, open_holds: 0 },
  })
  return body
}

const DUET = join(import.meta.dir, '../../bin/duet')

/** Where nobody listens. */
const NOWHERE = { DUET_PORT: '1' }

/** `duet ledger verify` on the data of a server that is not running. */
export async function verifyCommand(folder: string): Promise<VerifyView> {
  const place = STORE === 'sqlite' ? ['--data', join(folder, 'data')] : []
  const child = Bun.spawn([DUET, 'ledger', 'verify', ...place, '--json'], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', HOME: folder, ...NOWHERE, ...(await storeEnv(folder)) },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  expect({ code: await child.exited, err }).toEqual({ code: 0, err: '' })
  return JSON.parse(out)
}
