import { afterAll, beforeAll } from 'bun:test'
import { parseDollars } from '../../src/core/money.ts'
import type { Pair, Protocol, ScriptedStage } from '../pairs/pairs.ts'
import { framesOf, type Said, saying } from '../pairs/wire.ts'
import { type Duet, type JsonBody, startDuet } from '../support/duet.ts'
import { user } from '../support/http.ts'
import { type ScriptedUpstream, scriptUpstream, type UpstreamVisit } from '../support/upstream.ts'
import type { Caller } from '../support/wire.ts'

/** Dollars per million tokens: whole thousands of nano-dollars a token, so that sums are easy to follow. */
export const PRICE = { input: 1_000n, output: 4_000n, cacheRead: 100n, cacheWrite: 1_250n } as const

/** A `duet.yaml` whose models stand behind one upstream that speaks both protocols. */
export const configOf = (
  base: string,
  price = '{ input: 1, output: 4, cache_read: 0.1, cache_write: 1.25 }',
): string => `
models:
  - { id: acme/chat, price: ${price}, max_output_tokens: 64000 }
  - { id: acme/messages, price: ${price}, max_output_tokens: 64000 }
  - { id: acme/crumbs, price: { input: 0.0000003, output: 0.0000007, cache_read: 0.0000001, cache_write: 0.0000005 } }
  - { id: acme/odd, price: { input: 0.123456789, output: 0.987654321 } }
  - { id: acme/roomy, price: ${price}, max_output_tokens: 10000000 }
  - { id: acme/unpriced }
channels:
  - name: speaks-chat
    protocol: chat
    base_url: ${base}
    breaker: false
    models: [acme/chat, acme/crumbs, acme/odd, acme/roomy, acme/unpriced]
  - name: speaks-messages
    protocol: messages
    base_url: ${base}
    breaker: false
    models: [acme/messages]
`

export interface LedgerStage extends ScriptedStage {
  /** The same stage, called with another key. */
  as(caller: Pick<Caller, 'key'>): LedgerStage
  nanosHeld(account: string): Promise<bigint>
  balance(account: string): Promise<bigint>
  topUp(account: string, amount: bigint): Promise<void>
  /** The record and receipt of a request. */
  receipt(requestId: string): Promise<JsonBody>
  /** All records of an account, newest first. */
  usage(account: string): Promise<JsonBody[]>
}

/** One Duet for the file; what its upstream does is up to each test. */
export function useLedger(): LedgerStage {
  let duet: Duet | undefined
  let upstream: ScriptedUpstream | undefined
  const script: { answer: ScriptedStage['answer'] } = {
    answer: () => new Response('nothing is scripted', { status: 500 }),
  }
  beforeAll(async () => {
    upstream = scriptUpstream(visit => script.answer(visit))
    duet = await startDuet({ config: configOf(upstream.base) })
  })
  afterAll(async () => {
    await duet?.stop()
    await upstream?.stop()
  })
  return stageOf(script, {
    duet: () => duet,
    visits: () => upstream?.requests ?? [],
  })
}

interface Sources {
  duet(): Duet | undefined
  visits(): readonly UpstreamVisit[]
}

function stageOf(script: { answer: ScriptedStage['answer'] }, sources: Sources): LedgerStage {
  const running = (): Duet => {
    const duet = sources.duet()
    if (!duet) throw new Error('Duet has not started')
    return duet
  }
  const account = async (id: string) => (await running().admin('GET', `/api/accounts/${id}`)).body
  return {
    get answer() {
      return script.answer
    },
    set answer(answer) {
      script.answer = answer
    },
    get duet() {
      return running()
    },
    models: [{ id: 'acme/chat' }, { id: 'acme/messages' }],
    model: (protocol: Protocol) => `acme/${protocol}`,
    get visits() {
      return sources.visits()
    },
    get visit() {
      const last = sources.visits().at(-1)
      if (!last) throw new Error('nothing reached the upstream')
      return last
    },
    as: ({ key }) => stageOf(script, { ...sources, duet: () => ({ ...running(), key }) }),
    nanosHeld: async id => amountOf((await account(id)).held),
    balance: async id => amountOf((await account(id)).balance),
    async topUp(id, amount) {
      const { status } = await running().admin('POST', `/api/accounts/${id}/topups`, { amount: dollarsOf(amount) })
      if (status !== 201) throw new Error(`the top-up was answered with ${status}`)
    },
    receipt: async requestId => (await running().admin('GET', `/api/usage/${requestId}`)).body,
    usage: async id => (await running().admin('GET', `/api/usage?account=${id}&limit=500`)).body.data,
  }
}

// ── amounts ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Nano-dollars of a decimal string. */
export function amountOf(text: string): bigint {
  const amount = parseDollars(text)
  if (amount === undefined) throw new Error(`${text} is not an amount`)
  return amount
}

/** The other way round, as the management API writes it: at least cents, and no zeros beyond them. */
export const dollarsOf = (amount: bigint): string => {
  const digits = (amount < 0n ? -amount : amount).toString().padStart(10, '0')
  return `${amount < 0n ? '-' : ''}${digits.slice(0, -9)}.${digits.slice(-9).replace(/0{1,7}$/, '')}`
}

export interface Tokens {
  readonly input: number
  readonly output: number
  readonly cacheRead?: number
  readonly cacheWrite?: number
  readonly reasoning?: number
}

/** What a vendor reports, in the words of both protocols. */
export const used = ({
  input,
  output,
  cacheRead = 0,
  cacheWrite = 0,
  reasoning = 0,
}: Tokens): NonNullable<Said['usage']> => ({
  chat: {
    prompt_tokens: input + cacheRead + cacheWrite,
    completion_tokens: output,
    total_tokens: input + cacheRead + cacheWrite + output,
    prompt_tokens_details: { cached_tokens: cacheRead, cache_write_tokens: cacheWrite },
    completion_tokens_details: { reasoning_tokens: reasoning },
  },
  messages: {
    input_tokens: input,
    output_tokens: output,
    cache_read_input_tokens: cacheRead,
    cache_creation_input_tokens: cacheWrite,
    output_tokens_details: { thinking_tokens: reasoning },
  },
})

/** At the prices of `acme/chat` and `acme/messages`, which leave nothing to round. */
export const costOf = ({ input, output, cacheRead = 0, cacheWrite = 0 }: Tokens): bigint =>
  BigInt(input) * PRICE.input +
  BigInt(output) * PRICE.output +
  BigInt(cacheRead) * PRICE.cacheRead +
  BigInt(cacheWrite) * PRICE.cacheWrite

/** A door that is shut until somebody opens it. */
export function gate(): { readonly open: () => void; readonly opened: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { open: resolve, opened: promise }
}

// ── questions and answers ───────────────────────────────────────────────────────────────────────────────────────────

export const QUESTION = 'What does it cost?'
/** What the gateway takes the question for before it is answered: a quarter of its characters, as JSON. */
export const PROMPT = Math.ceil(JSON.stringify(user(QUESTION)).length / 4)

export const nameOf = ({ client, upstream }: Pair): string => `${client} client, ${upstream} upstream`

/** An upstream that says little and counts as it is told. */
export const answering = (usage: Tokens, more: Partial<Said> = {}) =>
  saying({ text: 'It depends.', finish: 'stop', usage: used(usage), ...more })

/** All frames of a stream but those that say that and why it ended. */
export const unfinished = (protocol: Protocol, said: Omit<Said, 'finish'>): string[] =>
  framesOf(protocol, { ...said, finish: 'stop' }).slice(0, protocol === 'chat' ? -2 : -3)

/** Reads on until what came says so, and leaves the rest. */
export async function readUntil(response: Response, isThere: (text: string) => boolean): Promise<void> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    if (isThere(text)) return
  }
  throw new Error(`the stream ended before: ${text}`)
}
