import { expect } from 'bun:test'
import { bodyOf } from '../pairs/wire.ts'
import type { Duet, JsonBody } from '../support/duet.ts'
import type { Answer } from '../support/http.ts'
import { eventStream, type ScriptedUpstream, scriptUpstream, type UpstreamVisit } from '../support/upstream.ts'
import { protocolOf } from '../support/vendor.ts'
import { type Caller, idOf } from '../support/wire.ts'
import { Listener } from './listener.ts'
import { ANSWER, frames, openingFrames } from './said.ts'
import { requestFor, type Way } from './support.ts'

/** Requests under a name, and an upstream that knows each of them again. */

type Script = (visit: UpstreamVisit, scene: NamedScene) => Response | Promise<Response>

const scenes = new Map<string, NamedScene>()

export const namedUpstream = (): ScriptedUpstream =>
  scriptUpstream(visit => {
    const scene = scenes.get(/Named scene \d+\./.exec(visit.text)?.[0] ?? '')
    return scene ? scene.visit(visit) : new Response('nobody asks this', { status: 500 })
  })

export class NamedScene {
  readonly way: Way
  readonly name: string
  readonly request: JsonBody
  readonly visits: UpstreamVisit[] = []
  private readonly script: Script
  private readonly gate = Promise.withResolvers<void>()

  constructor(way: Way, script: Script = answers) {
    const content = `Named scene ${scenes.size + 1}.`
    this.way = way
    this.script = script
    this.name = `name-${crypto.randomUUID()}`
    this.request = requestFor(way, content)
    scenes.set(content, this)
  }

  /** What the script waits for. */
  get mayGoOn(): Promise<void> {
    return this.gate.promise
  }

  goOn(): void {
    this.gate.resolve()
  }

  visit(visit: UpstreamVisit): Response | Promise<Response> {
    this.visits.push(visit)
    return this.script(visit, this)
  }

  /** Asks, for the first time or again. */
  ask(duet: Duet, { key }: Pick<Caller, 'key'>, changed: Changed = {}): Listener {
    const { name = this.name, request = this.request, headers = {} } = changed
    return new Listener(duet, this.way, { key, request, headers: { 'idempotency-key': name, ...headers } })
  }
}

interface Changed {
  readonly name?: string
  readonly request?: JsonBody
  readonly headers?: Readonly<Record<string, string>>
}

/** All at once. */
export const answers: Script = visit => {
  const protocol = protocolOf(visit)
  return visit.body.stream ? eventStream(frames(protocol)) : new Response(bodyOf(protocol, ANSWER))
}

/** Of a stream all of the text, and its end when it may go on; a whole answer then. */
export const answersLate: Script = (visit, { mayGoOn }) => {
  const protocol = protocolOf(visit)
  if (!visit.body.stream) return mayGoOn.then(() => new Response(bodyOf(protocol, ANSWER)))
  const opening = openingFrames(protocol)
  return eventStream([...opening, mayGoOn, ...frames(protocol).slice(opening.length)])
}

/** The same bytes as the first answer had, for nothing, and said so. */
export function expectReplay(repeat: Answer, first: Answer): void {
  expect({ status: repeat.status, text: repeat.text }).toEqual({ status: 200, text: first.text })
  const { headers } = repeat
  expect(headers.get('content-type')).toBe(first.headers.get('content-type'))
  expect(idOf(repeat)).not.toBe(idOf(first))
  expect({
    of: headers.get('x-duet-replay-of'),
    cost: headers.get('x-duet-cost'),
    balance: headers.get('x-duet-balance'),
  }).toEqual({ of: idOf(first), cost: '0.00', balance: null })
}

export function expectFirst(answer: Answer): void {
  expect(answer.status).toBe(200)
  expect(answer.headers.get('x-duet-replay-of')).toBeNull()
}
