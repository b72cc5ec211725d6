import { startDuet } from '../../test/support/duet.ts'
import { startPostgres } from '../../test/support/postgres.ts'
import { say } from '../report/progress.ts'
import { machine, median, writeResults } from '../results.ts'
import { after, ask } from './ask.ts'
import { catalogOf } from './catalog.ts'
import { fill, isFilled } from './fill.ts'
import type { Past } from './past.ts'
import { type Question, questionsOf } from './questions.ts'
import { sizesOf } from './sizes.ts'

/**
 * Every question that a view of the console asks, through the management API of a real server, with ten million requests
 * behind it. The server's memory is as small as `shared_buffers` says, so that not everything is in it.
 *
 *   npm run bench:views [-- --rows 10000000 --rounds 5 --url postgres://... --keep]
 *
 * `--url` takes a database that is there already: one that an earlier run filled, or an empty one to be filled.
 */

const ROWS = numberOption('--rows', 10_000_000)
const ROUNDS = numberOption('--rounds', 5)
const MS_MAX = 200
const SETTINGS = { shared_buffers: '1GB', max_wal_size: '8GB', maintenance_work_mem: '512MB' }
const SECRET = 'duet-secret-of-the-bench-that-seals-and-signs'
const YEAR_MS = 365 * 86_400_000

const to = Date.now()
const past: Past = { rows: ROWS, accounts: 1_000, keysPerAccount: 3, models: 20, from: to - YEAR_MS, to }

const given = textOption('--url')
const server = given === undefined ? await startPostgres({ fsync: true, settings: SETTINGS }) : undefined
const url = given ?? (await server?.newDatabase()) ?? ''
const sizes = await fillIfEmpty()
const duet = await startDuet({ config: catalogOf(past), env: { DUET_DATABASE_URL: url, DUET_SECRET: SECRET } })

interface Timed {
  readonly question: Question
  readonly times: readonly number[]
  readonly deep: readonly number[]
}

const timed: Timed[] = []
for (const question of questionsOf(past)) timed.push(await time(question))
await duet.stop()
await server?.stop()

const slow = timed.filter(({ times, deep }) => median(times) >= MS_MAX || (deep.length > 0 && median(deep) >= MS_MAX))
const slowViews = slow.filter(({ question }) => !question.view.includes('API'))
await writeResults('views', [
  `## Views with ${ROWS.toLocaleString('en')} requests behind them`,
  '',
  `${machine()}; PostgreSQL, ${SETTINGS.shared_buffers} of shared buffers. Milliseconds of every question that a view of the console asks, over the`,
  `management API; medians of ${ROUNDS} rounds after one that is not counted, and the slowest. \`npm run bench:views\`. ${past.accounts.toLocaleString('en')} accounts, ${(past.accounts * past.keysPerAccount).toLocaleString('en')} keys,`,
  `${past.models} models, a year; ${sizes}`,
  '',
  `Views that take ${MS_MAX} ms or more: ${slowViews.length === 0 ? 'none' : slowViews.length}.`,
  '',
  '| view | question | ms | slowest | next page, ms | slowest |',
  '|---|---|---:|---:|---:|---:|',
  ...timed.map(
    ({ question, times, deep }) => `| ${[question.view, question.what, ...cells(times), ...cells(deep)].join(' | ')} |`,
  ),
])
process.exit(0)

async function time(question: Question): Promise<Timed> {
  const [times, deep]: [number[], number[]] = [[], []]
  for (let round = 0; round <= ROUNDS; round++) {
    const asked = await ask(duet.url, question, duet.adminToken)
    if (round > 0) times.push(asked.ms)
    if (!question.isDeep || asked.next === undefined) continue
    const page = await ask(duet.url, after(question, asked.next), duet.adminToken)
    if (round > 0) deep.push(page.ms)
  }
  const ms = median(times)
  say(`${ms >= MS_MAX ? 'SLOW ' : ''}${question.view}, ${question.what}: ${ms.toFixed(1)} ms`)
  return { question, times, deep }
}

async function fillIfEmpty(): Promise<string> {
  if (!(await isFilled(url))) await fill(url, past)
  return sizesOf(url)
}

function cells(times: readonly number[]): string[] {
  return times.length === 0 ? ['–', '–'] : [median(times).toFixed(1), Math.max(...times).toFixed(1)]
}

function numberOption(name: string, fallback: number): number {
  return Number(textOption(name) ?? fallback)
}

function textOption(name: string): string | undefined {
  const place = process.argv.indexOf(name)
  return place === -1 ? undefined : process.argv[place + 1]
}
