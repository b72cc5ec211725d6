import { computed, effect, signal, untracked } from '@preact/signals'
import type { UsageView } from '../../../src/admin/contract.ts'
import { onEvent } from '../../app/events.ts'
import { query } from '../../app/router.ts'
import { isAdmin, session } from '../../app/session.ts'
import { forgetDraft, keepSettings, keptSettings } from './draft.ts'
import { forgetKey } from './key.ts'
import { type Lane, requestOf, type ToolResult, type Turn } from './request.ts'
import { Run } from './run.ts'
import { readSettings } from './settings.ts'

/**
 * The conversation outlives the page: whoever looks up a request and comes back finds it as it was. It is in memory only,
 * and gone when somebody else signs in.
 */

export interface Step {
  readonly run: Run
  /** What the called tools are said to have answered; null as long as nobody said it. */
  readonly given: readonly ToolResult[] | null
}

/** One question, and what became of it in each lane. */
export interface Round {
  readonly id: number
  readonly prompt: string
  readonly lanes: readonly (readonly Step[])[]
}

export const prompt = signal('')
export const rounds = signal<readonly Round[]>([])
export const settings = signal(keptSettings(session.peek()?.user?.id))

export const reading = computed(() => readSettings(settings.value))
export const hasFaults = computed(() => Object.keys(reading.value.faults).length > 0)

export const runs = computed(() =>
  rounds.value.flatMap(({ lanes }) => lanes.flatMap(steps => steps.map(({ run }) => run))),
)
export const isBusy = computed(() => runs.value.some(run => run.isBusy))

let lastId = 0

/** Asks every lane the same. */
export function ask(text: string, lanes: readonly Lane[]): void {
  const id = ++lastId
  rounds.value = [...rounds.value, { id, prompt: text, lanes: lanes.map(() => []) }]
  lanes.forEach((lane, place) => {
    answer({ id, place, lane })
  })
}

/** From this question on everything is asked anew, in other words. */
export function askInstead(id: number, text: string, lanes: readonly Lane[]): void {
  stop()
  rounds.value = rounds.value.slice(
    0,
    rounds.value.findIndex(round => round.id === id),
  )
  ask(text, lanes)
}

interface Place {
  readonly id: number
  readonly place: number
}

export function askAgain({ id, place }: Place, lane: Lane): void {
  change({ id, place }, steps => steps.slice(0, -1))
  answer({ id, place, lane })
}

/** Goes on with what the tools would have said. */
export function giveResults({ id, place, lane }: Place & { readonly lane: Lane }, given: readonly ToolResult[]): void {
  change({ id, place }, steps => steps.map((step, at) => (at === steps.length - 1 ? { ...step, given } : step)))
  answer({ id, place, lane })
}

export function stop(): void {
  for (const run of runs.value) if (run.isBusy) run.stop()
}

export function startOver(): void {
  stop()
  rounds.value = []
}

function answer({ id, place, lane }: Place & { readonly lane: Lane }): void {
  const body = requestOf(lane, turnsOf(place), reading.value.wishes)
  const run = new Run({ lane, body, account: billedAccount.value })
  change({ id, place }, steps => [...steps, { run, given: null }])
  run.go()
}

function change({ id, place }: Place, by: (steps: readonly Step[]) => readonly Step[]): void {
  rounds.value = rounds.value.map(round =>
    round.id === id ? { ...round, lanes: round.lanes.map((steps, at) => (at === place ? by(steps) : steps)) } : round,
  )
}

/** A lane that was opened later begins with what the first one heard. */
function turnsOf(place: number): readonly Turn[] {
  const last = rounds.value.at(-1)
  return rounds.value.flatMap(round => {
    const turns = (round.lanes[place] ?? round.lanes[0] ?? []).flatMap(turnsOfStep)
    // A question that was refused is no part of what was said.
    return turns.length === 0 && round !== last ? [] : [{ role: 'user', text: round.prompt }, ...turns]
  })
}

function turnsOfStep({ run, given }: Step): readonly Turn[] {
  const { state, answer } = run.view.value
  // Calls that broke off cannot be answered.
  const said = state === 'done' ? answer : { ...answer, calls: [] }
  if (said.text === '' && said.calls.length === 0) return []
  const spoken: Turn = { role: 'assistant', answer: said, by: run.lane }
  return given ? [spoken, { role: 'results', results: given }] : [spoken]
}

// ── whose money, and who sits here ──────────────────────────────────────────────────────────────────────────────────

/** Admins may play for another account; undefined is the own one. */
export const billedAccount = computed(() => (isAdmin.value ? (query.value.get('account') ?? undefined) : undefined))

const user = computed(() => session.value?.user?.id)
let lastUser = user.peek()

effect(() => {
  if (session.value === null) forgetDraft()
  const id = user.value
  if (id !== lastUser) untracked(begin)
  if (id !== undefined) keepSettings(id, settings.value)
})

/** Somebody else sits here, or the server has only now said who it is. */
function begin(): void {
  lastUser = user.value
  forgetKey()
  startOver()
  prompt.value = ''
  settings.value = keptSettings(user.value)
}

onEvent('usage', ({ rows }) => {
  const byId = new Map<string | null, UsageView>(rows.map(row => [row.request_id, row]))
  for (const run of runs.peek()) {
    const row = byId.get(run.view.peek().requestId)
    if (row) run.settle(row)
  }
})
