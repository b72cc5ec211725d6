import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Duet, newFolder, startDuet } from '../support/duet.ts'
import { CHAT, MESSAGES, post, user } from '../support/http.ts'
import { inviteMember, type Person, signIn, signInAsOperator } from '../support/people.ts'

/** A Duet that looks used, and the addresses of one of everything. */
export interface Stage {
  readonly duet: Duet
  readonly operator: Person
  readonly member: Person
  readonly keyId: string
  readonly requestId: string
  readonly refusedId: string
}

export interface StageOptions {
  readonly days: number
  readonly requestsADay: number
}

const MEMBER = 'Mei'
const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
/** The times of a day at which there is something to do; the latest is now. */
const HOURS_AGO = [9, 6, 5, 3, 2, 0]
/** At once: enough to be quick, and little enough for two cores. */
const CALLERS = 8

/** People, keys, money, and requests of the last days, at working hours. */
export async function startUsedDuet({ days, requestsADay }: StageOptions): Promise<Stage> {
  const folder = newFolder()
  const clock = join(folder, 'late-by')
  const lateBy = (ms: number) => writeFileSync(clock, String(ms))
  lateBy(days * DAY_MS)
  const env = { BUN_OPTIONS: `--preload=${join(import.meta.dir, 'past.ts')}`, DUET_TEST_LATE_BY: clock }
  const duet = await startDuet({ folder, env })
  await signInAsOperator(duet)
  const keys = await makeKeys(duet, await inviteMember(duet, MEMBER))

  for (let day = days - 1; day >= 0; day--) {
    // Some days are busier than others.
    const share = Math.ceil((requestsADay * (2 + (day % 3))) / 3 / HOURS_AGO.length)
    for (const hours of HOURS_AGO) {
      lateBy(day * DAY_MS + hours * HOUR_MS)
      await callMany(duet, keys, share)
    }
  }
  // Those who signed in two weeks ago are out again by now.
  const operator = await signInAsOperator(duet)
  const member = await signIn(duet, { name: MEMBER, password: `the password of ${MEMBER}` })
  return { duet, operator, member, ...(await refuseSome(duet, keys)) }
}

// ── who calls ───────────────────────────────────────────────────────────────────────────────────────────────────────

interface Caller {
  readonly id: string
  readonly key: string
  readonly models: readonly string[]
  readonly protocol: 'chat' | 'messages'
  /** How often among ten. */
  readonly share: number
}

async function makeKeys(duet: Duet, member: Person): Promise<Caller[]> {
  const make = async (account: string, name: string, limits: object = {}) =>
    (await duet.admin('POST', '/api/keys', { account, name, ...limits })).body as Pick<Caller, 'id' | 'key'>
  const mine = member.session.account.id as string
  await duet.admin('POST', `/api/accounts/${mine}/topups`, { amount: '20', note: 'Invoice 2026-117' })
  await duet.admin('POST', '/api/accounts', { name: 'Research', balance: '40' })
  await duet.admin('POST', '/api/accounts', { name: 'Empty for now' })
  await duet.admin('POST', '/api/codes', { amount: '25', count: 2, note: 'Workshop' })
  await duet.admin('POST', '/api/invites', { role: 'member', name: 'Jonas' })
  await duet.admin('PUT', '/api/accounts/default/notice', { threshold: '5', url: 'http://127.0.0.1:9/low-balance' })
  return [
    {
      ...(await make('default', 'Support chat', { cap: '25' })),
      models: ['anthropic/claude-sonnet-4.6', 'anthropic/claude-sonnet-4.6', 'openai/gpt-5-mini'],
      protocol: 'messages',
      share: 4,
    },
    {
      ...(await make('default', 'Nightly summaries', { cap: '3.60' })),
      models: ['openai/gpt-4.1', 'google/gemini-2.5-flash'],
      protocol: 'chat',
      share: 2,
    },
    {
      ...(await make('Research', 'Notebook')),
      models: ['deepseek/deepseek-reasoner', 'anthropic/claude-sonnet-4.6'],
      protocol: 'chat',
      share: 2,
    },
    {
      ...(await make(mine, 'Editor', { cap: '5', models: ['anthropic/claude-haiku-4.5'] })),
      models: ['anthropic/claude-haiku-4.5'],
      protocol: 'messages',
      share: 2,
    },
  ]
}

// ── what they ask ───────────────────────────────────────────────────────────────────────────────────────────────────

const QUESTIONS = [
  'Summarise the ticket',
  'Translate the release notes',
  'Write a test for the parser',
  'Name the risks',
]

/** Counted over everything that is asked, so that no two hours look alike. */
let asked = 0

async function callMany(duet: Duet, callers: readonly Caller[], count: number): Promise<void> {
  const tenths = callers.flatMap(caller => Array<Caller>(caller.share).fill(caller))
  const last = asked + count
  const askOn = async (): Promise<void> => {
    while (asked < last) {
      const n = asked++
      const caller = tenths[scatter(n, tenths.length)]
      if (caller) await ask(duet, caller, n)
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, askOn))
}

function ask(duet: Duet, { key, models, protocol }: Caller, n: number) {
  const model = models[n % models.length]
  // One in thirty fails, so that there is something to look for.
  const failure = n % 30 === 29 ? '[[error 529]]' : ''
  const [tokens, delay] = [300 + scatter(n, 4700), 20 + scatter(n, 160)]
  const content = `${QUESTIONS[n % QUESTIONS.length]} [[tokens ${tokens}]] [[delay ${delay}ms]] ${failure}`
  const body = { model, messages: user(content), stream: n % 2 === 0, max_tokens: 8000 }
  return post(duet, protocol === 'chat' ? CHAT : MESSAGES, body, { key })
}

/** Looks random, and is the same each time. */
const scatter = (n: number, below: number): number => (((n + 1) * 2_654_435_761) % 4_294_967_291) % below

/** Both refusals that money causes, and an ordinary request. */
async function refuseSome(duet: Duet, [caller]: readonly Caller[]) {
  const { body: capped } = await duet.admin('POST', '/api/keys', { account: 'default', name: 'CI', cap: '0.0001' })
  const { body: broke } = await duet.admin('POST', '/api/keys', { account: 'Empty for now', name: 'Prototype' })
  const call = async (key: string) => {
    const answer = await post(
      duet,
      CHAT,
      { model: 'openai/gpt-4.1', messages: user('Hello'), max_tokens: 2000 },
      { key },
    )
    return answer.headers.get('x-request-id') ?? ''
  }
  await call(broke.key)
  return { keyId: capped.id as string, refusedId: await call(capped.key), requestId: await call(caller?.key ?? '') }
}
