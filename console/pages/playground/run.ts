import { signal } from '@preact/signals'
import type { TokensView } from '../../../src/admin/contract.ts'
import { ApiError, isAbort } from '../../app/api.ts'
import { type MoneyRefusal, moneyRefusalOf } from '../../kit/index.ts'
import {
  type Answer,
  type AnswerReader,
  type Fault,
  faultOf,
  type Json,
  NOTHING_SAID,
  object,
  type ProtocolName,
  parse,
} from './answer.ts'
import { forgetKey, type LentKey, lendKey } from './key.ts'
import { ChatReader } from './read-chat.ts'
import { MessagesReader } from './read-messages.ts'
import { type Lane, PATHS } from './request.ts'
import { type SseEvent, SseReader } from './sse.ts'

export type RunState = 'waiting' | 'answering' | 'done' | 'failed' | 'stopped'

export interface Frame extends SseEvent {
  /** Since the call was sent. */
  readonly atMs: number
}

/** What there is to see of a call by now. */
export interface RunView {
  readonly state: RunState
  readonly answer: Answer
  readonly frameCount: number
  readonly requestId: string | null
  readonly channel: string | null
  readonly dropped: readonly string[]
  readonly fault: Fault | null
  readonly refusal: MoneyRefusal | null
  readonly firstMs: number | null
  readonly totalMs: number | null
  readonly tokens: TokensView | null
  readonly cost: string | null
}

const BEGINNING: RunView = {
  state: 'waiting',
  answer: NOTHING_SAID,
  frameCount: 0,
  requestId: null,
  channel: null,
  dropped: [],
  fault: null,
  refusal: null,
  firstMs: null,
  totalMs: null,
  tokens: null,
  cost: null,
}

/** Frames come faster than anybody reads; drawing each of them would make the page slow. */
const DRAW_EVERY_MS = 40

const READERS: Readonly<Record<ProtocolName, new () => AnswerReader>> = { chat: ChatReader, messages: MessagesReader }

interface Order {
  readonly lane: Lane
  readonly body: Json
  /** Whose money it is; undefined for the own account. */
  readonly account: string | undefined
}

let lastId = 0

/** One call, from the moment it is sent. */
export class Run {
  readonly id = ++lastId
  readonly lane: Lane
  readonly body: Json
  readonly account: string | undefined
  readonly frames: Frame[] = []
  readonly view = signal<RunView>(BEGINNING)
  private readonly abort = new AbortController()
  private readonly reader: AnswerReader
  private sentAt = 0
  private drawing: ReturnType<typeof setTimeout> | undefined
  private firstMs: number | null = null

  constructor({ lane, body, account }: Order) {
    this.lane = lane
    this.body = body
    this.account = account
    this.reader = new READERS[lane.protocol]()
  }

  get isBusy(): boolean {
    const { state } = this.view.value
    return state === 'waiting' || state === 'answering'
  }

  stop(): void {
    this.abort.abort()
  }

  /** The books have the last word, and for a call that was stopped the only one. */
  settle({ tokens, cost }: { readonly tokens: TokensView; readonly cost: string }): void {
    this.view.value = { ...this.view.value, tokens, cost }
  }

  async go(): Promise<void> {
    try {
      const response = await this.ask()
      this.show({ state: 'answering', ...this.headersOf(response) })
      if (response.ok) await this.read(response)
      else await this.refuse(response)
    } catch (error) {
      if (isAbort(error) || this.abort.signal.aborted) this.end('stopped')
      else this.fail(faultFrom(error))
    }
  }

  // ── asking ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** A key that is used up or gone is replaced once, silently: it is the page's business, not the user's. */
  private async ask(): Promise<Response> {
    const key = await lendKey(this.account)
    const response = await this.send(key)
    if (key.isFresh || !(await isAboutKey(response))) return response
    forgetKey()
    return this.send(await lendKey(this.account))
  }

  private send({ key }: LentKey): Promise<Response> {
    this.sentAt = performance.now()
    return fetch(`/v1${PATHS[this.lane.protocol]}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(this.body),
      signal: this.abort.signal,
      credentials: 'omit',
      cache: 'no-store',
    })
  }

  // ── reading ───────────────────────────────────────────────────────────────────────────────────────────────────────

  private headersOf({ headers }: Response): Pick<RunView, 'requestId' | 'channel' | 'dropped'> {
    return {
      requestId: headers.get('x-request-id'),
      channel: headers.get('x-duet-channel'),
      dropped: (headers.get('x-duet-dropped') ?? '').split(',').filter(Boolean),
    }
  }

  private async read(response: Response): Promise<void> {
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
    if (isStream && response.body) await this.readStream(response.body)
    else {
      const body = await response.text()
      this.add({ event: '', data: body })
      this.reader.body(object(parse(body)))
    }
    const { error } = this.reader.answer
    if (error) this.fail(error)
    else this.end('done')
  }

  private async readStream(body: ReadableStream<Uint8Array>): Promise<void> {
    const events = new SseReader()
    const decoder = new TextDecoder()
    const reader = body.getReader()
    for (;;) {
      const { done, value } = await reader.read()
      const found = done ? events.end() : events.push(decoder.decode(value, { stream: true }))
      for (const event of found) {
        this.add(event)
        this.reader.frame(event.data)
        this.noteFirst()
      }
      if (done) return
    }
  }

  private add(event: SseEvent): void {
    this.frames.push({ ...event, atMs: this.elapsed() })
    this.drawing ??= setTimeout(() => this.draw(), DRAW_EVERY_MS)
  }

  /** Frames that only open the answer say nothing yet. */
  private noteFirst(): void {
    if (this.firstMs !== null) return
    const { text, reasoning, calls } = this.reader.answer
    if (text !== '' || reasoning !== '' || calls.length > 0) this.firstMs = this.elapsed()
  }

  private async refuse(response: Response): Promise<void> {
    const body = await response.text()
    this.add({ event: '', data: body })
    const { error } = object(parse(body))
    const fault = faultOf(object(error), response.status, response.headers.get('retry-after'))
    this.fail(fault.message === '' ? { ...fault, message: body || response.statusText } : fault)
  }

  // ── showing ───────────────────────────────────────────────────────────────────────────────────────────────────────

  private elapsed(): number {
    return performance.now() - this.sentAt
  }

  private draw(): void {
    clearTimeout(this.drawing)
    this.drawing = undefined
    const { answer } = this.reader
    const known = this.view.value
    this.show({
      answer,
      frameCount: this.frames.length,
      firstMs: this.firstMs,
      tokens: answer.tokens ?? known.tokens,
      cost: answer.cost ?? known.cost,
    })
  }

  private show(changes: Partial<RunView>): void {
    this.view.value = { ...this.view.value, ...changes }
  }

  private end(state: RunState): void {
    this.draw()
    this.show({ state, totalMs: this.sentAt === 0 ? null : this.elapsed() })
  }

  private fail(fault: Fault): void {
    this.end('failed')
    this.show({ fault, refusal: moneyRefusalOf(fault.code) })
  }
}

/** 401: it has ended; 403 with the cap's code: it is used up. */
async function isAboutKey(response: Response): Promise<boolean> {
  if (response.status === 401) return true
  if (response.status !== 403) return false
  const { error } = object(parse(await response.clone().text()))
  return moneyRefusalOf(String(object(error).code)) === 'cap'
}

function faultFrom(error: unknown): Fault {
  const status = error instanceof ApiError ? error.status : 0
  const code = error instanceof ApiError ? error.code : 'unreachable'
  const message = error instanceof Error ? error.message : String(error)
  return faultOf({ code, message }, status)
}
