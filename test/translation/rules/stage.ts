import { afterAll, beforeAll, expect } from 'bun:test'
import { chatClient, messagesClient, type Stage } from '../../pairs/pairs.ts'
import { type Duet, type JsonBody, startDuet } from '../../support/duet.ts'
import { type Answer, type Frame, framesOf, post } from '../../support/http.ts'
import {
  type ScriptedUpstream,
  scriptUpstream,
  type UpstreamVisit,
  VENDOR_KEY,
  VENDOR_MODEL,
} from '../../support/upstream.ts'
import { vendorAnswer } from '../../support/vendor.ts'
import { PATHS, type ProtocolName } from '../../support/wire.ts'

/** An upstream that some rule needs: what it speaks, and where it differs from the defaults. */
export interface Kind {
  readonly protocol: ProtocolName
  /** A preset to take the capabilities from; the address is the scripted upstream's all the same. */
  readonly vendor?: string
  readonly capabilities?: Readonly<Record<string, unknown>>
  /** Settings of the model in the catalog. */
  readonly model?: Readonly<Record<string, unknown>>
  /** The name under which the upstream knows the model. */
  readonly name?: string
}

export type Kinds = Readonly<Record<string, Kind>>
export type Script = (visit: UpstreamVisit) => Response | Promise<Response>

export interface Played extends Answer {
  /** What reached the upstream; throws if nothing did. */
  readonly sent: UpstreamVisit
  /** The names in `x-duet-dropped`. */
  readonly dropped: readonly string[]
  /** Of a stream. */
  readonly frames: readonly Frame[]
}

export interface Play {
  readonly answer?: Script
  readonly strict?: boolean
}

export interface RuleStage<K extends Kinds> extends Stage {
  /** Asks the model of a kind; what a request needs besides is filled in. Text is sent as it is. */
  ask(client: ProtocolName, kind: keyof K & string, fields: object | string, play?: Play): Promise<Played>
  /** The official client's own reading of the answer: of a stream, what its stream helper puts together. */
  official(client: ProtocolName, kind: keyof K & string, fields: object, answer: Script): Promise<JsonBody>
}

export const idOfKind = (kind: string): string => `acme/${kind}`

/** One Duet for the file, with a model and a channel for every kind. */
export function useKinds<K extends Kinds>(kinds: K): RuleStage<K> {
  let duet: Duet | undefined
  let upstream: ScriptedUpstream | undefined
  let script: Script = vendorAnswer
  beforeAll(async () => {
    upstream = scriptUpstream(visit => script(visit))
    duet = await startDuet({ config: configOf(kinds, upstream.base) })
  })
  afterAll(async () => {
    await duet?.stop()
    await upstream?.stop()
  })
  const stage: RuleStage<K> = {
    get duet() {
      if (duet === undefined) throw new Error('Duet has not started')
      return duet
    },
    models: [],
    model: idOfKind,
    async ask(client, kind, fields, { answer = vendorAnswer, strict = false } = {}) {
      script = answer
      const before = upstream?.requests.length ?? 0
      const body = typeof fields === 'string' ? fields : requestOf(client, kind, fields)
      const received = await post(
        stage.duet,
        PATHS[client],
        body,
        strict ? { headers: { 'x-duet-strict': 'true' } } : {},
      )
      return {
        ...received,
        frames: framesOf(received.text),
        dropped: received.headers.get('x-duet-dropped')?.split(',') ?? [],
        get sent() {
          const visit = upstream?.requests[before]
          if (visit === undefined) throw new Error(`nothing reached the upstream: ${received.text}`)
          return visit
        },
      }
    },
    async official(client, kind, fields, answer) {
      script = answer
      const body = requestOf(client, kind, fields)
      if (client === 'chat') {
        const { completions } = chatClient(stage).chat
        return body.stream ? completions.stream(body).finalChatCompletion() : completions.create(body)
      }
      const { messages } = messagesClient(stage)
      return body.stream ? messages.stream(body).finalMessage() : messages.create(body)
    },
  }
  return stage
}

function requestOf(client: ProtocolName, kind: string, fields: object): JsonBody {
  return {
    model: idOfKind(kind),
    ...(client === 'messages' && { max_tokens: 1024 }),
    messages: [{ role: 'user', content: 'q' }],
    ...fields,
  }
}

/** JSON is YAML, and needs no care for indentation. */
export function configOf(kinds: Kinds, base: string): string {
  const rows = Object.entries(kinds)
  return JSON.stringify({
    models: rows.map(([kind, { model }]) => ({ id: idOfKind(kind), price: { input: 1, output: 4 }, ...model })),
    channels: rows.map(([kind, { protocol, vendor, capabilities, name = VENDOR_MODEL }]) => ({
      name: kind,
      ...(vendor === undefined ? { protocol } : { vendor }),
      base_url: base,
      // One odd answer after the other, each to be judged by itself.
      breaker: false,
      api_key: VENDOR_KEY,
      models: { [idOfKind(kind)]: name },
      ...(capabilities && { capabilities }),
    })),
  })
}

/** The rule says that a request like this cannot be served. */
export function expectRefused(played: Played, param?: string | RegExp): void {
  expect({ status: played.status, code: played.body?.error?.code }).toEqual({ status: 400, code: 'invalid_request' })
  if (param !== undefined) expect(played.body.error.param).toMatch(param)
}

/** Nothing of what is named may be a member of the body. */
export function expectWithout(body: JsonBody, ...members: readonly string[]): void {
  expect(Object.keys(body).filter(key => members.includes(key))).toEqual([])
}

export const says = (role: string, content: unknown, more: object = {}) => ({ role, content, ...more })
export const text = (value: string, more: object = {}) => ({ type: 'text', text: value, ...more })
export const fn = (name: string, more: object = {}) => ({ type: 'function', function: { name, ...more } })
export const call = (id: string, name = 'f', made: unknown = '{}') => ({
  id,
  type: 'function',
  function: { name, arguments: made },
})
export const calls = (...made: readonly object[]) => ({ role: 'assistant', content: null, tool_calls: made })
export const result = (id: string, content: unknown, more: object = {}) =>
  says('tool', content, { tool_call_id: id, ...more })
export const use = (id: string, name = 'f', input: unknown = {}) => ({ type: 'tool_use', id, name, input })
export const used = (id: string, content?: unknown, more: object = {}) => ({
  type: 'tool_result',
  tool_use_id: id,
  ...(content === undefined ? {} : { content }),
  ...more,
})

/** A message's content as blocks: a string and one text block say the same. */
export const blocksOf = ({ content }: JsonBody): JsonBody[] => (typeof content === 'string' ? [text(content)] : content)

/** Roles and blocks of a messages conversation, whichever way its texts are written. */
export const turnsOf = (body: JsonBody): JsonBody[] =>
  body.messages.map((message: JsonBody) => ({ role: message.role, content: blocksOf(message) }))

/** A chat stream put together as a client does it. */
export function chatFolded(frames: readonly Frame[]): JsonBody {
  const deltas = frames.flatMap(({ json }) => json?.choices?.[0]?.delta ?? [])
  const joined = (of: (delta: JsonBody) => unknown) => deltas.map(delta => of(delta) ?? '').join('')
  const parts: JsonBody[] = deltas.flatMap(delta => delta.tool_calls ?? [])
  const count = new Set(parts.map(({ index }) => index)).size
  return {
    content: joined(delta => delta.content),
    reasoning: joined(delta => delta.reasoning_content),
    calls: Array.from({ length: count }, (_, index) => {
      const own = parts.filter(part => part.index === index)
      const { id, type } = own[0]
      const piece = (of: (part: JsonBody) => unknown) => own.map(part => of(part) ?? '').join('')
      return type === 'custom'
        ? { id, type, custom: { name: piece(part => part.custom?.name), input: piece(part => part.custom?.input) } }
        : {
            id,
            type,
            function: { name: piece(part => part.function?.name), arguments: piece(part => part.function?.arguments) },
          }
    }),
    functionCall: {
      name: joined(delta => delta.function_call?.name),
      arguments: joined(delta => delta.function_call?.arguments),
    },
    finish: frames.map(({ json }) => json?.choices?.[0]?.finish_reason).find(Boolean),
  }
}

export const uses = (...ids: readonly string[]) =>
  says(
    'assistant',
    ids.map(id => use(id)),
  )
export const tool = (id: string, content: unknown) => says('tool', content, { tool_call_id: id })
export const png = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
export const shown = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
