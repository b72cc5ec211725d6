import { Broken, checkAnswer, checkState, WrongAnswer } from './checks.ts'
import type { Found } from './look.ts'
import type { Model } from './model.ts'
import { type Operation, UNAVAILABLE } from './operations.ts'

/** An operation in the order of submission, and what became of it. */
export interface Logged {
  readonly operation: Operation
  /** Undefined if there was none before the process died, and for what the ledger does by itself. */
  answer: string | undefined
  /** It happened, and whoever asked for it was told that it did not. */
  readonly isLost?: boolean
}

export interface Circumstances {
  /** Another process looks at what the one that was asked has left. */
  readonly isReopened: boolean
  /** And that one had no time to end: what it did not answer may have happened or not. */
  readonly hasDied: boolean
  /** The database failed for a while: what was answered with `unavailable` has not happened. */
  readonly hasFailed: boolean
  /** It failed after its commit: what was answered with `unavailable` may have happened. */
  readonly isAnswerLost: boolean
}

/** What was done before, and what is to be explained now. */
export interface Story {
  /** Answered, and not looked at yet. */
  readonly before: readonly Logged[]
  readonly log: readonly Logged[]
}

/** What a model is after operations that went well, if every answer is the one that it gives. */
export function apply(model: Model, log: readonly Logged[]): Model {
  const next = model.copy()
  for (const { operation, answer, isLost } of log) {
    const expected = next.apply(operation)
    if (answer !== undefined) checkAnswer(expected, answer, operation)
    if (isLost && operation.type === 'hold') next.strays.add(operation.request.requestId)
  }
  return next
}

/**
 * Finds the one way in which the operations lead from the model to what was found, and returns the model after them.
 * What was answered has happened, in the order of submission. What was not answered has happened wholly or not at all,
 * and if it did, so did everything that was submitted before it.
 */
export function explain(model: Model, { before, log }: Story, found: Found, how: Circumstances): Model {
  let nearest: Broken | undefined
  for (const reading of readings(log, how)) {
    try {
      return follow(model, [...before, ...reading], found)
    } catch (error) {
      if (!(error instanceof Broken)) throw error
      nearest ??= error
    }
  }
  if (!nearest) throw new Error('there is always one reading')
  if (!how.isReopened || nearest instanceof WrongAnswer) throw nearest
  throw new Broken(3, `the next process finds something lost, or done by halves:\n${nearest.message}`)
}

function follow(model: Model, reading: readonly Logged[], found: Found): Model {
  const next = apply(model, reading)
  checkState(next, found)
  return next
}

/** Every order that is allowed, the likeliest first. */
function* readings(log: readonly Logged[], how: Circumstances): Iterable<readonly Logged[]> {
  const happened = how.hasFailed ? log.filter(({ answer }) => answer !== UNAVAILABLE) : log
  const [changes, batches] = [happened.filter(isOfKeys), happened.filter(logged => !isOfKeys(logged))]
  const known = how.hasDied ? [...beginnings(batches)] : [batches]
  for (const beginning of known) yield [...changes, ...beginning]
  if (changes.length > 0) for (const beginning of known) yield* withChanges(beginning, changes)
  if (how.isAnswerLost) yield log.map(({ operation }) => ({ operation, answer: undefined, isLost: true }))
}

/** All of it, then less and less, down to what was answered. */
function* beginnings(log: readonly Logged[]): Iterable<readonly Logged[]> {
  const answered = log.findLastIndex(({ answer }) => answer !== undefined) + 1
  for (let end = log.length; end >= answered; end--) yield log.slice(0, end)
}

/** Keys are changed beside the ledger's batches: before, between or after what was submitted with them. */
function* withChanges(log: readonly Logged[], [change, ...others]: readonly Logged[]): Iterable<readonly Logged[]> {
  if (!change) {
    yield log
    return
  }
  for (const reading of withChanges(log, others)) {
    for (let place = 0; place <= reading.length; place++) yield reading.toSpliced(place, 0, change)
    if (change.answer === undefined) yield reading
  }
}

const isOfKeys = ({ operation: { type } }: Logged): boolean => type === 'cap' || type === 'enable'
