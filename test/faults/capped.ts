import { expect } from 'bun:test'
import { faultsInChat, faultsInMessages } from '../pairs/grammar.ts'
import type { JsonBody } from '../support/duet.ts'
import { type Answer, framesOf, post } from '../support/http.ts'
import type { UpstreamVisit } from '../support/upstream.ts'
import { eventually, idOf, type ProtocolName } from '../support/wire.ts'
import { costOf, dollarsOf, nanosOf, pathOf, requestFor, type Stage, type Way } from './support.ts'

// ── one request ─────────────────────────────────────────────────────────────────────────────────────────────────────

export type Upstream = (visit: UpstreamVisit) => Response | Promise<Response>

export interface Played {
  readonly answer: Answer
  /** The record of the request, with its receipt. */
  readonly row: JsonBody
  readonly request: JsonBody
  /** What reached the upstream. */
  readonly visit: UpstreamVisit
}

export interface Play {
  readonly upstream: Upstream
  /** In nano-dollars. */
  readonly ceiling?: bigint
  readonly more?: object
  readonly key?: string
}

export const capped = (ceiling: bigint | undefined): Record<string, string> =>
  ceiling === undefined ? {} : { 'x-duet-max-cost': dollarsOf(ceiling) }

/** Many requests at once: a scene's name stands in its request, so that the upstream knows what to do. */
export function scenesOn(stage: Stage) {
  const scenes = new Map<string, Upstream>()

  function enter(way: Way, { upstream, more }: Pick<Play, 'upstream' | 'more'>) {
    const name = `Scene ${scenes.size + 1}.`
    const { promise: visited, resolve: visit } = Promise.withResolvers<UpstreamVisit>()
    scenes.set(name, asked => {
      visit(asked)
      return upstream(asked)
    })
    stage.answer = asked =>
      scenes.get(/Scene \d+\./.exec(asked.text)?.[0] ?? '')?.(asked) ?? new Response('', { status: 500 })
    return { request: requestFor(way, name, { max_tokens: 4_000, ...more }), visited }
  }

  async function play(way: Way, { ceiling, key = stage.duet.key, ...scene }: Play): Promise<Played> {
    const { request, visited } = enter(way, scene)
    const answer = await post(stage.duet, pathOf(way), request, { key, headers: capped(ceiling) })
    expect(answer.status, answer.text).toBe(200)
    const { body: row } = await stage.duet.admin('GET', `/api/usage/${idOf(answer)}`)
    return { answer, row, request, visit: await visited }
  }

  return { enter, play }
}

// ── what every answer owes its caller ───────────────────────────────────────────────────────────────────────────────

export const LENGTH: Record<ProtocolName, string> = { chat: 'length', messages: 'max_tokens' }

export function expectWellFormed({ client, stream }: Way, { text, body }: Answer): void {
  if (stream) {
    expect(client === 'chat' ? faultsInChat(text, { usageAsked: true }) : faultsInMessages(text)).toEqual([])
    return
  }
  const shape =
    client === 'chat'
      ? { object: 'chat.completion', choices: [{ index: 0, message: { role: 'assistant' } }] }
      : { type: 'message', role: 'assistant', content: [expect.objectContaining({ type: expect.any(String) })] }
  expect(body).toMatchObject(shape)
}

interface Ended {
  readonly finish: string
  readonly cost: string
}

export function endOf({ client, stream }: Pick<Way, 'client' | 'stream'>, { text, body }: Answer): Ended {
  if (!stream) {
    const finish = client === 'chat' ? body.choices[0].finish_reason : body.stop_reason
    return { finish, cost: body.usage.cost }
  }
  const frames = framesOf(text).map(({ json }) => json)
  const finishes = frames.flatMap(json => json?.choices?.[0]?.finish_reason ?? json?.delta?.stop_reason ?? [])
  expect(finishes).toHaveLength(1)
  return { finish: finishes[0], cost: frames.findLast(json => json?.usage?.cost)?.usage.cost }
}

/** How often the caller got to see this. */
export const seenIn = ({ text }: Answer, piece: string): number => text.split(piece).length - 1

export const TOKEN = costOf({ output: 1 })
/** About seven hundred tokens. */
export const CEILING = 1_000_000n

/** As much of the ceiling as buys whole tokens, and not a billionth more. */
export function expectAllOf(ceiling: bigint, way: Way, { answer, row }: Played): void {
  const { finish, cost } = endOf(way, answer)
  expect({ finish, cost }).toEqual({ finish: LENGTH[way.client], cost: row.cost })
  if (!way.stream) expect(answer.headers.get('x-duet-cost')).toBe(row.cost)
  expect(row).toMatchObject({ status: 'ok', ending: 'ceiling', source: 'counted', stream: way.stream })
  expect(nanosOf(row.cost)).toBeLessThanOrEqual(ceiling)
  expect(nanosOf(row.cost)).toBeGreaterThan(ceiling - TOKEN)
  expect(nanosOf(row.receipt.hold.amount)).toBeLessThanOrEqual(ceiling)
}

/** The gateway has ended the call. */
export async function expectLeft({ signal }: Pick<UpstreamVisit, 'signal'>): Promise<void> {
  const isLeft = await eventually(
    () => signal.aborted,
    aborted => aborted,
  )
  expect(isLeft).toBe(true)
}
