import { join } from 'node:path'
import type { AccountView } from '../src/admin/contract.ts'
import { Random } from '../test/ledger/property/random.ts'
import { cleanUp, type Duet, startDuet } from '../test/support/duet.ts'
import { Callers, type Purses } from './callers.ts'
import { catalogText } from './catalog.ts'
import { Checks } from './checks.ts'
import { Disturbances } from './disturbance.ts'
import { Memory } from './memory.ts'
import { readOptions } from './options.ts'
import { Trouble } from './trouble.ts'

/**
 * Minutes of everything that can go wrong at once: upstreams that fail in all ways of `test/faults/table`, callers of all
 * manners, reloads and pauses. At the end nothing may be left of it but the books, and these must be right.
 *
 *   npm run soak [-- --minutes 5 --seed 1]
 */

const PROGRESS_MS = 10_000
const SETTLED_MS_MAX = 10_000
const EXIT_MS_MAX = 10_000

/** What a minute of it brings without fail. */
const KINDS_MIN = [
  'an answer',
  'an answer cut at its limit',
  'left',
  '502 upstream_error',
  '504 upstream_timeout',
  '503 upstream_unavailable',
  'broken by upstream_error',
  'broken by upstream_timeout',
  '429 rate_limited',
  '403 insufficient_user_quota',
  '409 idempotency_conflict',
  '400 max_cost_too_low',
]
const FAULTS_MIN = 100

const { minutes, seed } = readOptions(process.argv.slice(2))
console.log(`soak: ${minutes} min, --seed ${seed}`)
let isWell = false
try {
  isWell = await soak()
} finally {
  cleanUp()
}
process.exit(isWell ? 0 : 1)

/** Everything that takes part. */
interface Soak {
  readonly duet: Duet
  readonly trouble: Trouble
  readonly callers: Callers
  readonly disturbances: Disturbances
  readonly memory: Memory
}

async function soak(): Promise<boolean> {
  const trouble = new Trouble(new Random(seed))
  const { upstream } = trouble
  const duet = await startDuet({ config: catalogText(upstream, 1) })
  const { purses, poor } = await openPurses(duet)
  const memory = new Memory(duet)
  const callers = new Callers({ duet, purses, random: new Random(seed + 1) })
  const disturbances = new Disturbances({ duet, callers, upstream, poor, random: new Random(seed + 2) })
  const parts: Soak = { duet, trouble, callers, disturbances, memory }

  const begun = Date.now()
  const tell = () => console.log(`${Math.round((Date.now() - begun) / 1000)} s: ${progressOf(parts)}`)
  const progress = setInterval(tell, PROGRESS_MS)
  await Bun.sleep(minutes * 60_000)
  await disturbances.end()
  trouble.end()
  await callers.end()
  memory.end()
  clearInterval(progress)
  tell()

  console.log(table('what callers got', callers.kinds))
  console.log(table('what was done meanwhile', disturbances.counts))
  for (const problem of callers.problems) console.log(`not allowed: ${problem}`)
  const checks = await checkAll(parts)
  upstream.stop()
  return checks.sum()
}

/** More than any soak can spend; one request at a time; and hardly anything. */
async function openPurses({ admin }: Duet): Promise<{ purses: Purses; poor: string }> {
  const opened = async (name: string, balance: string, limits: object) => {
    const account = await admin('POST', '/api/accounts', { name, balance })
    const made = await admin('POST', '/api/keys', { account: account.body.id, name, ...limits })
    return { account: account.body.id, key: made.body.key }
  }
  const rich = await opened('rich', '1000000', {})
  const limited = await opened('limited', '1000000', { max_concurrent: 1, max_per_minute: 60 })
  const poor = await opened('poor', '0.002', {})
  return { purses: { rich: rich.key, limited: limited.key, poor: poor.key }, poor: poor.account }
}

function progressOf({ callers, trouble, memory }: Soak): string {
  const answers = callers.kinds.get('an answer') ?? 0
  const faults = [...trouble.counts.values()].reduce((sum, times) => sum + times, 0)
  const { busy } = trouble.upstream
  return `${callers.asked} requests, ${answers} answers, ${callers.faulty} not allowed, ${faults} faults, ${busy} calls under way, ${memory.now}`
}

async function checkAll(parts: Soak): Promise<Checks> {
  const { duet, trouble, callers, memory } = parts
  const { upstream } = trouble
  const checks = new Checks()
  checks.check('every caller got what callers may get', callers.faulty === 0, `${callers.faulty} did not`)
  checks.check('much was tried', ...wasTried(parts))
  checks.check('memory is flat', ...memory.growth())

  const busy = await soon(
    () => upstream.busy,
    count => count === 0,
  )
  checks.check('no call is left with an upstream', busy === 0, `${busy} are`)
  upstream.closeIdle()
  const open = await soon(
    () => upstream.open,
    count => count === 0,
  )
  checks.check('no connection is left with an upstream', open === 0, `${open} are`)
  const held = await soon(
    () => heldIn(duet),
    amounts => amounts.length === 0,
  )
  checks.check('nothing is held any more', held.length === 0, held.join(', ') || 'nothing')

  const code = await Promise.race([duet.stop(), Bun.sleep(EXIT_MS_MAX)])
  checks.check('it stops when it is told to', code === 0, code === undefined ? 'it runs on' : `exit code ${code}`)
  checks.check('duet ledger verify', ...(await verify(duet)))
  return checks
}

/** A soak that tried little would prove little. */
function wasTried({ callers, trouble, disturbances }: Soak): [boolean, string] {
  const missing = KINDS_MIN.filter(kind => !callers.kinds.has(kind))
  const { asked, lookedUp } = callers
  const faults = trouble.counts.size
  const isMuch = missing.length === 0 && faults >= FAULTS_MIN && lookedUp > 0 && disturbances.counts.has('reload')
  const text = `${asked} requests, ${faults} kinds of faults, ${lookedUp} bills looked up`
  return [isMuch, missing.length === 0 ? text : `${text}; nobody got: ${missing.join(', ')}`]
}

async function heldIn(duet: Duet): Promise<readonly string[]> {
  const { body } = await duet.admin('GET', '/api/accounts')
  return body.data.map(({ held }: AccountView) => held).filter((held: string) => held !== '0.00')
}

/** On the data of the server that has just stopped. */
async function verify({ folder }: Duet): Promise<[boolean, string]> {
  const program = join(import.meta.dir, '../bin/duet')
  const child = Bun.spawn([program, 'ledger', 'verify', '--data', join(folder, 'data'), '--json'], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', HOME: folder },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  const isRun = (await child.exited) === 0
  const { ok, problem, open_holds, usage } = isRun
    ? JSON.parse(out)
    : { ok: false, problem: err || out, open_holds: -1 }
  return [ok && open_holds === 0, ok ? `${usage} records, ${open_holds} open holds` : problem]
}

async function soon<T>(look: () => Promise<T> | T, isSo: (seen: T) => boolean): Promise<T> {
  const deadline = Date.now() + SETTLED_MS_MAX
  for (;;) {
    const seen = await look()
    if (isSo(seen) || Date.now() > deadline) return seen
    await Bun.sleep(20)
  }
}

function table(title: string, counts: ReadonlyMap<string, number>): string {
  const rows = [...counts].toSorted(([, a], [, b]) => b - a)
  return `${title}\n${rows.map(([what, times]) => `  ${String(times).padStart(7)}  ${what}`).join('\n')}\n`
}
