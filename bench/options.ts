import { join, resolve } from 'node:path'
import type { DuetSource } from './contestants/duet.ts'
import type { Workload } from './workloads/workload.ts'

export interface Options {
  readonly workloads: readonly Workload[]
  /** Names of contestants; none means all. */
  readonly contestants: readonly string[]
  readonly duets: readonly DuetSource[]
  readonly rounds: number
  readonly seconds: number
  readonly isQuick: boolean
  readonly isPinnedOnly: boolean
  /** Rounds are kept even if the machine was not the same from their beginning to their end. */
  readonly isNoisy: boolean
  /** Duet on PostgreSQL takes part, too. */
  readonly isPostgres: boolean
  /** All that there is, often enough: only this replaces the recorded results. */
  readonly isWhole: boolean
  /** The section of `RESULTS.md` that gets the tables of a run that is not whole. */
  readonly section: string | undefined
}

const ROUNDS = 3
const SECONDS = 3

const HELP = `npm run bench                       everything, about half an hour; writes RESULTS.md, results.json and the plots
npm run bench -- [options]          a part of it; prints its tables and writes nothing

  --only chat,rate-1000             these workloads; an id stands for all that begin with it (rate, paced, memory)
  --contestants duet,bare           these contestants: direct, nginx, bare, duet, portkey
  --duet <root>                     the Duet of another checkout instead of this one
  --duet before=<root>              one more Duet beside it, as contestant duet-before; repeatable
  --postgres                        Duet on PostgreSQL beside it, as duet-postgres and, with two replicas, duet-postgres-2
  --rounds ${ROUNDS}                        every contestant is measured so often, in turns
  --seconds ${SECONDS}                       so long each time
  --quick                           one round of a second, and smaller numbers: does it work at all?
  --pinned                          leaves out what is measured a second time with nobody pinned
  --noisy                           keeps rounds whose baseline moved, and says how many: where others use the machine
  --save <section>                  writes the tables into this section of RESULTS.md, too
  --list                            the workloads
`

const FLAGS = new Set(['--quick', '--pinned', '--noisy', '--postgres'])
const VALUED = new Set(['--only', '--contestants', '--duet', '--rounds', '--seconds', '--save'])
/** A run with these is as whole as one without. */
const WITHOUT_EFFECT = new Set(['--rounds', '--seconds', '--duet', '--noisy'])
const HERE: DuetSource = { name: 'duet', root: join(import.meta.dir, '..') }
const ON_POSTGRES: readonly DuetSource[] = [
  { ...HERE, name: 'duet-postgres', replicas: 1 },
  { ...HERE, name: 'duet-postgres-2', replicas: 2 },
]

export function readOptions(args: readonly string[], workloads: readonly Workload[]): Options {
  if (args.includes('--help')) say(HELP)
  if (args.includes('--list')) say(workloads.map(({ id, title }) => `${id.padEnd(14)} ${title}\n`).join(''))
  const given = parse(args)
  const isQuick = given.has('--quick')
  const rounds = number(given, '--rounds', isQuick ? 1 : ROUNDS)
  const seconds = number(given, '--seconds', isQuick ? 1 : SECONDS)
  const isFull = rounds >= ROUNDS && seconds >= SECONDS
  return {
    workloads: chosen(workloads, list(given, '--only')),
    contestants: list(given, '--contestants'),
    duets: [...duetsOf(given.get('--duet') ?? []), ...(given.has('--postgres') ? ON_POSTGRES : [])],
    rounds,
    seconds,
    isQuick,
    isPinnedOnly: given.has('--pinned'),
    isPostgres: given.has('--postgres'),
    isNoisy: isQuick || given.has('--noisy'),
    isWhole: isFull && [...given.keys()].every(name => WITHOUT_EFFECT.has(name)),
    section: given.get('--save')?.at(-1),
  }
}

type Given = ReadonlyMap<string, readonly string[]>

function parse(args: readonly string[]): Given {
  const given = new Map<string, string[]>()
  for (let at = 0; at < args.length; at++) {
    const name = args[at] ?? ''
    if (FLAGS.has(name)) given.set(name, [])
    else if (!VALUED.has(name)) fail(`${name} is no option; see --help`)
    else given.set(name, [...(given.get(name) ?? []), args[++at] ?? fail(`${name} needs a value`)])
  }
  return given
}

function chosen(workloads: readonly Workload[], only: readonly string[]): readonly Workload[] {
  for (const wanted of only) {
    if (!workloads.some(({ id }) => id.startsWith(wanted))) fail(`--only: there is no ${wanted}; see --list`)
  }
  return only.length === 0 ? workloads : workloads.filter(({ id }) => only.some(wanted => id.startsWith(wanted)))
}

function duetsOf(given: readonly string[]): DuetSource[] {
  const named = given.map(text => {
    const [, name = '', root = ''] = /^(?:([\w-]+)=)?(.*)$/.exec(text) ?? []
    return { name: name ? `duet-${name}` : HERE.name, root: resolve(root) }
  })
  return named.some(({ name }) => name === HERE.name) ? named : [HERE, ...named]
}

const list = (given: Given, name: string): string[] => given.get(name)?.flatMap(text => text.split(',')) ?? []

function number(given: Given, name: string, fallback: number): number {
  const value = Number(given.get(name)?.at(-1) ?? fallback)
  return value > 0 ? value : fail(`${name} must be above 0`)
}

function say(text: string): never {
  process.stdout.write(text)
  process.exit(0)
}

function fail(problem: string): never {
  process.stderr.write(`bench: ${problem}\n`)
  process.exit(2)
}
