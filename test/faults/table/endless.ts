import { textFrame } from './answer.ts'
import { error, type Fault, failing, NOTHING, onRequest, type Patience, type Stage } from './fault.ts'
import { type Outcome, outcomeOf } from './outcome.ts'
import { bytesOf, chunked, type Step, statusLine, write } from './script.ts'
import { answering, halfOf, type Sending, sentAt } from './sending.ts'

/** Often enough to be no silence. */
const SIGN_OF_LIFE_MS = 50
const AT_ONCE_MS = 1

const SENTENCE = 'It goes on and on. '

/** Answers that would go on for ever, with something or with nothing. */
export const endless = (sending: Sending): readonly Fault[] => [
  endlessHead(),
  ...(sending.stream ? [...COMMENTED.map(stage => comments(stage, sending)), ...texts(sending)] : [blanks(sending)]),
]

const COMMENTED = ['after the headers', 'after the first frame', 'in the content'] as const

const forEver = (text: string, pauseMs = SIGN_OF_LIFE_MS): Step => ({ do: 'repeat', bytes: bytesOf(text), pauseMs })

const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`

function endlessHead(): Fault {
  const script = onRequest(write(statusLine(200)), forEver('x-more: and more\r\n'))
  const happening = { name: 'never ends its headers', stage: 'after the status line', script } as const
  return failing(happening, error('upstream_timeout'), 'short')
}

function blanks(sending: Sending): Fault {
  const script = onRequest(...answering([], sending, chunked), forEver(chunk(' ')))
  const happening = { name: 'never ends its blanks', stage: 'after the headers', script } as const
  return failing(happening, error('upstream_timeout'), 'short in all')
}

function comments(stage: Stage, sending: Sending): Fault {
  const { pieces, progress } = sentAt(stage, sending) ?? NOTHING
  const script = onRequest(...answering(pieces, sending), forEver(chunk(': still here\n\n')))
  const outcome = outcomeOf(progress, { code: 'upstream_timeout' })
  return failing({ name: 'never ends its comments', stage, script }, outcome, 'short in all')
}

interface EndlessText {
  readonly whom: string
  readonly text: string
  readonly pauseMs: number
  readonly outcome: Outcome
  readonly patience: Patience
}

const TEXTS: readonly EndlessText[] = [
  {
    ...{ whom: 'one who waits', text: SENTENCE, pauseMs: SIGN_OF_LIFE_MS, patience: 'short in all' },
    outcome: { sees: 'a broken flow', code: 'upstream_timeout' },
  },
  {
    ...{ whom: 'one who leaves', text: SENTENCE, pauseMs: AT_ONCE_MS, patience: 'long' },
    outcome: { sees: 'what it wants to' },
  },
  {
    ...{ whom: 'one who runs out of money', text: SENTENCE.repeat(20), pauseMs: AT_ONCE_MS, patience: 'long' },
    outcome: { sees: 'all that the money buys' },
  },
]

const texts = (sending: Sending): readonly Fault[] =>
  TEXTS.map(({ whom, text, pauseMs, outcome, patience }) => {
    const more = chunk(textFrame(sending.upstream, text))
    const script = onRequest(...answering(halfOf(sending).pieces, sending), forEver(more, pauseMs))
    return failing({ name: `never ends its text for ${whom}`, stage: 'in the content', script }, outcome, patience)
  })
