import { expect } from 'bun:test'
import type { UsageView } from '../../src/admin/contract.ts'
import type { JsonBody } from '../support/duet.ts'
import { framesOf } from '../support/http.ts'
import type { UpstreamVisit } from '../support/upstream.ts'
import { protocolOf } from '../support/vendor.ts'
import { type CallerFields, eventually, newCaller, type ProtocolName } from '../support/wire.ts'
import { type Bill, expectBilled } from './bills.ts'
import { Listener } from './listener.ts'
import { TEXT } from './said.ts'
import { allPages, expectVerified, requestFor, type Stage, settledBooks, type Way } from './support.ts'

/** One request from its hold to its bill: what the upstream does, what the client does, what must be in the books. */
export interface Ending {
  answer(scene: Scene): Response | Promise<Response>
  bill(way: Way, request: JsonBody): Bill
  /** Where the client does not wait for the end. */
  readonly leaves?: 'before the first byte' | 'after the text'
  /** The upstream would go on for ever: the gateway has to end the call. */
  readonly isLeftOpen?: true
  /** More fields of the request. */
  readonly more?: (way: Way) => object
  readonly caller?: CallerFields
}

export interface Scene extends UpstreamVisit {
  readonly protocol: ProtocolName
  /** As the client sent it. */
  readonly request: JsonBody
  /** Resolves when the client has read all of `TEXT`. */
  readonly textRead: Promise<void>
}

/** The promise is a tenth of this; a machine with other things to do may be late. */
const UPSTREAM_LEFT_MS_MAX = 1_000
/** More than what a finished answer may keep its connection for. */
const UPSTREAM_FREED_MS_MAX = 5_000

/** Plays a request to its end and checks that it was settled once, with exactly this bill; returns its record. */
export async function play(stage: Stage, way: Way, ending: Ending): Promise<UsageView> {
  const caller = await newCaller(stage.duet, ending.caller)
  const scene = enter(stage, way, ending)
  const { request } = scene
  const listener = new Listener(stage.duet, way, { key: caller.key, request })
  await converse(listener, way, ending, scene)

  const books = await settledBooks(stage.duet, caller.account, 1)
  const bill = ending.bill(way, request)
  expectBilled(books, bill)
  const row = books.rows[0] as UsageView
  expect(row).toMatchObject({ stream: way.stream, protocol: way.client, upstream_protocol: way.upstream })
  if (bill.status === 'ok') expect(costIn(listener.text)).toBe(row.cost)
  if (ending.isLeftOpen) await expectUpstreamLeft(scene, listener)
  return row
}

/** When all are over: one record of each request, with each time that it reached the upstream, and books that add up. */
export async function expectOneRecordEach({ duet, upstream }: Stage): Promise<void> {
  const { usage } = await expectVerified(duet)
  expect(upstream.requests.length).toBeGreaterThan(0)
  const rows = await allPages<UsageView>(duet, '/api/usage?')
  expect(usage).toBe(rows.length)
  expect(rows.reduce((sum, { attempts }) => sum + attempts, 0)).toBe(upstream.requests.length)
}

interface Entered {
  readonly request: JsonBody
  readonly visited: Promise<UpstreamVisit>
  readonly readText: () => void
  abortedAt: number | undefined
}

const scenes = new Map<string, (visit: UpstreamVisit) => Response | Promise<Response>>()

/** A scene's name stands in its request: the upstream knows what to do even when several are played at once. */
function enter(stage: Stage, way: Way, { answer, more }: Ending): Entered {
  const name = `Scene ${scenes.size + 1}.`
  const request = requestFor(way, name, more?.(way))
  const { promise: textRead, resolve: readText } = Promise.withResolvers<void>()
  const { promise: visited, resolve: visit } = Promise.withResolvers<UpstreamVisit>()
  const entered: Entered = { request, visited, readText, abortedAt: undefined }
  scenes.set(name, asked => {
    asked.signal.addEventListener('abort', () => {
      entered.abortedAt ??= performance.now()
    })
    visit(asked)
    return answer({ ...asked, protocol: protocolOf(asked), request, textRead })
  })
  stage.answer = asked => {
    const known = scenes.get(/Scene \d+\./.exec(asked.text)?.[0] ?? '')
    return known ? known(asked) : new Response('nobody plays this', { status: 500 })
  }
  return entered
}

/** What the client does. */
async function converse(listener: Listener, way: Way, { leaves }: Ending, scene: Entered): Promise<void> {
  if (leaves === 'before the first byte') {
    await scene.visited
    // For what the upstream has sent to arrive.
    await Bun.sleep(20)
    return listener.leave()
  }
  if (way.stream && (await listener.readUntil(TEXT))) scene.readText()
  if (leaves) listener.leave()
  else await listener.readAll()
}

async function expectUpstreamLeft(scene: Entered, { leftAt }: Listener): Promise<void> {
  const { signal } = await scene.visited
  await eventually(
    () => signal.aborted,
    isAborted => isAborted,
    UPSTREAM_FREED_MS_MAX,
  )
  expect(signal.aborted).toBe(true)
  if (leftAt === undefined) return
  const tookMs = Math.round((scene.abortedAt ?? Number.NaN) - leftAt)
  expect(tookMs, `the upstream call ended ${tookMs} ms after its client had left`).toBeLessThan(UPSTREAM_LEFT_MS_MAX)
}

/** What the client was told that its answer had cost. */
function costIn(text: string): string {
  const bodies: JsonBody[] = text.startsWith('{') ? [JSON.parse(text)] : framesOf(text).map(({ json }) => json)
  return bodies.findLast(body => body?.usage?.cost !== undefined)?.usage.cost
}
