import { expect } from 'bun:test'
import { bodyOf } from '../pairs/wire.ts'
import type { Duet, JsonBody } from '../support/duet.ts'
import { eventStream, type ScriptedUpstream, scriptUpstream, type UpstreamVisit } from '../support/upstream.ts'
import { protocolOf } from '../support/vendor.ts'
import { type Caller, eventually, newCaller } from '../support/wire.ts'
import { type Bill, expectBilled } from './bills.ts'
import { Listener } from './listener.ts'
import { ANSWER, frames, openingFrames, TEXT, together } from './said.ts'
import { booksOf, expectVerified, nameOf, requestFor, type Way } from './support.ts'

/** Requests that are all under way when something happens to the server. */

export interface Plan {
  readonly name: string
  readonly ways: readonly Way[]
  readonly says: Instruction
  /** What the client gets, or does, after it has happened. */
  hears(listener: Listener, way: Way): Promise<void>
  /** What is in the books in the end. */
  bill(way: Way, request: JsonBody): Bill
}

/** What the upstream does with a request that says so. */
type Instruction =
  /** Answers when it is told to go on; of a stream, all of the text comes before. */
  | 'Wait.'
  /** Says all of the text, and then nothing for ever. */
  | 'Stay.'
  /** Fails when it is told to go on. */
  | 'Fail.'
  /** When it is told to go on, sends all of a stream at once. */
  | 'Gulp.'

export interface GatedUpstream extends ScriptedUpstream {
  goOn(): void
}

export function gatedUpstream(): GatedUpstream {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { ...scriptUpstream(visit => answer(visit, promise)), goOn: resolve }
}

function answer(visit: UpstreamVisit, goOn: Promise<void>): Response | Promise<Response> {
  const protocol = protocolOf(visit)
  const { stream } = visit.body
  const whole = () => new Response(bodyOf(protocol, ANSWER))
  const opening = openingFrames(protocol)
  switch (/Wait\.|Stay\.|Fail\.|Gulp\./.exec(visit.text)?.[0] as Instruction | undefined) {
    case 'Wait.':
      if (!stream) return goOn.then(whole)
      return eventStream([...opening, goOn, ...frames(protocol).slice(opening.length)])
    case 'Stay.':
      return stream ? eventStream(opening, 'silence') : new Promise(() => {})
    case 'Fail.':
      return goOn.then(() => new Response('out of order', { status: 500 }))
    case 'Gulp.':
      return goOn.then(() => eventStream(together(frames(protocol))))
    case undefined:
      return stream ? eventStream(frames(protocol)) : whole()
  }
}

export interface UnderWay {
  readonly plan: Plan
  readonly way: Way
  readonly caller: Caller
  readonly request: JsonBody
  readonly listener: Listener
}

/** Each plan over each of its pairs: held, with the upstream at work; of streams, the text has arrived. */
export async function begin(duet: Duet, upstream: ScriptedUpstream, plans: readonly Plan[]): Promise<UnderWay[]> {
  const calls = plans.flatMap(plan => plan.ways.map(way => ({ plan, way })))
  const begun = await Promise.all(
    calls.map(async ({ plan, way }) => {
      const caller = await newCaller(duet)
      const request = requestFor(way, plan.says)
      const listener = new Listener(duet, way, { key: caller.key, request })
      const isSpoken = way.stream && (plan.says === 'Wait.' || plan.says === 'Stay.')
      if (isSpoken) expect(await listener.readUntil(TEXT)).toBe(true)
      return { plan, way, caller, request, listener }
    }),
  )
  await eventually(
    () => upstream.requests.length,
    asked => asked >= calls.length,
  )
  expect(upstream.requests).toHaveLength(calls.length)
  return begun
}

/** One record of each, with exactly its bill; or, with `changed`, with what became of all bills. */
export async function expectSettled(duet: Duet, begun: readonly UnderWay[], changed?: Bill): Promise<void> {
  for (const { plan, way, caller, request } of begun) {
    const books = await booksOf(duet, caller.account)
    expectBilled(books, changed ?? plan.bill(way, request), `${plan.name}: ${nameOf(way)}`)
  }
  await expectVerified(duet)
}

/** The calls that would never end by themselves have been ended. */
export async function expectUpstreamLeft({ requests }: ScriptedUpstream): Promise<void> {
  const stayed = requests.filter(({ text }) => text.includes('Stay.'))
  await eventually(
    () => stayed.every(({ signal }) => signal.aborted),
    isLeft => isLeft,
  )
  expect(stayed.map(({ signal }) => signal.aborted)).toEqual(stayed.map(() => true))
}
