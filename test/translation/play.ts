import { afterAll, beforeAll } from 'bun:test'
import { rmSync } from 'node:fs'
import { chatClient, failureOf, messagesClient, PATHS, type Pair, type Stage } from '../pairs/pairs.ts'
import { type Duet, type JsonBody, startDuet } from '../support/duet.ts'
import { type Answer, post } from '../support/http.ts'
import { eventStream, type ScriptedUpstream, scriptUpstream, type UpstreamVisit } from '../support/upstream.ts'
import { vendorAnswer } from '../support/vendor.ts'
import { type Capabilities, type Case, pairOf } from './cases.ts'
import { configFor, modelFor } from './channels.ts'
import { rawJson } from './raw.ts'

/** One call and what the upstream answers to it. Claims vary it by a spread. */
export interface Scene {
  readonly pair: Pair
  readonly capabilities: Capabilities
  /** The caller's fields; what every request needs is filled in. */
  readonly body: JsonBody
  readonly answer: (visit: UpstreamVisit) => Response
}

export function sceneOf(each: Case): Scene {
  const { stream, request = {}, upstream_capabilities: capabilities = {} } = each
  return {
    pair: pairOf(each),
    capabilities,
    body: stream ? { stream: true, ...request } : request,
    answer: answerOf(each),
  }
}

function answerOf({ upstream_frames: frames, upstream_response: body, tcp_split_bytes: size }: Case): Scene['answer'] {
  if (frames) return () => (size ? slowStream(frames, size) : eventStream(frames))
  if (body) return () => Response.json(body)
  return vendorAnswer
}

/** No event tells when the other side has taken what was sent; without a pause two writes arrive as one. */
const PAUSE_MS = 1

function slowStream(frames: readonly string[], size: number): Response {
  const bytes = new TextEncoder().encode(frames.join(''))
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      for (let at = 0; at < bytes.length; at += size) {
        controller.enqueue(bytes.slice(at, at + size))
        await Bun.sleep(PAUSE_MS)
      }
      controller.close()
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

/** The body as the caller sends it. */
export function bodyOf({ pair, capabilities, body }: Scene): JsonBody {
  return {
    model: modelFor({ upstream: pair.upstream, capabilities }),
    ...(pair.client === 'messages' && { max_tokens: 1024 }),
    messages: [{ role: 'user', content: 'q' }],
    ...body,
  }
}

export interface Played extends Answer {
  /** The text that the caller sent. */
  readonly asked: string
  /** What reached the upstream; throws if nothing did. */
  readonly sent: UpstreamVisit
}

export interface CaseStage extends Stage {
  /** Plays a scene over plain HTTP. */
  play(scene: Scene): Promise<Played>
  /** Lets the upstream answer as the scene says, for calls that somebody else makes. */
  script(scene: Scene): void
}

/** One Duet for the file, with a channel for every kind of upstream that the cases ask for. */
export function useCases(): CaseStage {
  let duet: Duet | undefined
  let upstream: ScriptedUpstream | undefined
  let answer: Scene['answer'] = vendorAnswer
  beforeAll(async () => {
    upstream = scriptUpstream(visit => answer(visit))
    duet = await startDuet({ config: configFor(upstream.base) })
  })
  afterAll(async () => {
    await duet?.stop()
    await upstream?.stop()
    if (duet) rmSync(duet.folder, { recursive: true, force: true })
  })
  const stage: CaseStage = {
    get duet() {
      if (duet === undefined) throw new Error('Duet has not started')
      return duet
    },
    models: [],
    model: protocol => modelFor({ upstream: protocol, capabilities: {} }),
    script(scene) {
      answer = scene.answer
    },
    async play(scene) {
      stage.script(scene)
      const before = upstream?.requests.length ?? 0
      const asked = rawJson(bodyOf(scene))
      const received = await post(stage.duet, PATHS[scene.pair.client], asked)
      return {
        ...received,
        asked,
        get sent() {
          const visit = upstream?.requests[before]
          if (visit === undefined) throw new Error(`nothing reached the upstream: ${received.text}`)
          return visit
        },
      }
    },
  }
  return stage
}

/** What the official client makes of a scene: of a stream, what its stream helper accumulates. */
export async function official(stage: CaseStage, scene: Scene): Promise<JsonBody> {
  stage.script(scene)
  const answer = await (scene.pair.client === 'chat' ? chatAnswer : messagesAnswer)(stage, bodyOf(scene))
  // The helpers hang conveniences of their own on what came; as JSON it is what came.
  return JSON.parse(JSON.stringify(answer))
}

async function chatAnswer(stage: CaseStage, body: JsonBody): Promise<unknown> {
  const { completions } = chatClient(stage).chat
  return body.stream ? completions.stream(body).finalChatCompletion() : completions.create(body)
}

async function messagesAnswer(stage: CaseStage, body: JsonBody): Promise<unknown> {
  const { messages } = messagesClient(stage)
  return body.stream ? messages.stream(body).finalMessage() : messages.create(body)
}

/** The error that the official client throws; undefined if it takes the answer for a whole one. */
export function rejection(stage: CaseStage, scene: Scene): Promise<JsonBody> {
  return failureOf(official(stage, scene))
}
