import { expect } from 'bun:test'
import type { AttemptView, UsageView } from '../../../src/admin/contract.ts'
import { framesOf } from '../../support/http.ts'
import { brokenEnd, expectError, expectErrorObject, read } from '../../support/wire.ts'
import { affordableTokens, costOf, nanosOf, promptTokensIn, type Tokens, type Way } from '../support.ts'
import { PROMPT, REPORTED, TEXT } from './answer.ts'
import { type Case, secondOf } from './cases.ts'
import { mayFailOver, type Outcome, STATUS } from './outcome.ts'
import type { Heard } from './play.ts'
import { VENDOR_SECRETS } from './refusals.ts'

/** What the books have about one request. */
export interface Booked {
  readonly row: UsageView | undefined
  /** In nano-dollars; none where nothing was charged. */
  readonly charges: readonly bigint[]
}

/** The money of a caller for whom an endless answer ends: more than is held at first, and less than is asked for. */
export const ALLOWANCE = costOf({ output: 5_000 })

const STOPS = { chat: { stop: 'stop', length: 'length' }, messages: { stop: 'end_turn', length: 'max_tokens' } }

// ── what the caller sees ────────────────────────────────────────────────────────────────────────────────────────────

export function expectSeen(way: Way, outcome: Outcome, heard: Heard): void {
  expect(heard.text).not.toContain('the-vendors-own-name')
  for (const secret of VENDOR_SECRETS) expect(heard.text).not.toContain(secret)
  switch (outcome.sees) {
    case 'an answer':
      expectAnswer(way, heard)
      break
    case 'an error':
      expectFailed(way, heard, outcome)
      break
    case 'a broken stream':
      expect(heard.said).toBe(outcome.progress.text)
      expectBroken(way, heard, outcome.code)
      break
    case 'a broken flow':
      expect(heard.said).not.toBe('')
      expectBroken(way, heard, outcome.code)
      break
    case 'all that the money buys':
      expectComplete(way, heard, 'length')
      break
    case 'what it wants to':
      expect(heard.status).toBe(200)
  }
}

/** Everything that the upstream had to say, and no word of a failure. */
export function expectAnswer(way: Way, heard: Heard): void {
  if (way.stream) {
    expectComplete(way, heard, 'stop')
    expect(heard.said).toBe(TEXT)
    return
  }
  expectOk(heard)
  expect(read(way.client, heard.body)).toMatchObject({ text: TEXT, stop: STOPS[way.client].stop })
}

function expectComplete({ client }: Way, heard: Heard, stop: 'stop' | 'length'): void {
  expectOk(heard)
  expect(heard.text).not.toContain('"error"')
  const all = framesOf(heard.text)
  const reasons = all.flatMap(({ json }) => json?.choices?.[0]?.finish_reason ?? json?.delta?.stop_reason ?? [])
  expect(reasons).toEqual([STOPS[client][stop]])
  if (client === 'chat') expect(all.at(-1)?.data).toBe('[DONE]')
  else expect(all.at(-1)?.event).toBe('message_stop')
}

/** With what it says instead, for whoever has to find out. */
const expectOk = ({ status, text }: Heard): void =>
  expect({ status, text }).toEqual({ status: 200, text: expect.any(String) })

function expectFailed(
  { client }: Way,
  heard: Heard,
  { code, retryAfter }: Extract<Outcome, { sees: 'an error' }>,
): void {
  expectError(heard, { status: STATUS[code], code, protocol: client })
  if (code === 'upstream_rate_limited') expect(heard.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
  if (retryAfter !== undefined) expect(heard.headers.get('retry-after')).toBe(retryAfter)
}

function expectBroken({ client }: Way, heard: Heard, code: string): void {
  expectOk(heard)
  expectErrorObject(brokenEnd(client, heard.text), heard.requestId, { type: 'duet_api_error', code })
}

/** The upstream is left alone for a while, and the caller is told for how long. */
export function expectRest({ client }: Way, heard: Heard): void {
  expectError(heard, { status: 503, code: 'upstream_unavailable', protocol: client })
  expect(heard.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
}

// ── what was charged ────────────────────────────────────────────────────────────────────────────────────────────────

type Bill = Pick<UsageView, 'status' | 'ending' | 'source'> & { readonly tokens: Partial<Tokens> }

const NO_TOKENS = { input: 0, cache_read: 0, cache_write: 0, output: 0, reasoning: 0 }

export function expectCharged(upstream: Way['upstream'], outcome: Outcome, heard: Heard, booked: Booked): void {
  const { row, charges } = booked
  const bill = billOf(upstream, outcome, heard)
  const tokens = { ...NO_TOKENS, ...bill.tokens, ...outputOf(outcome, heard, booked) }
  expect(row).toMatchObject({ ...bill, tokens })
  const cost = costOf(tokens)
  expect(nanosOf(row?.cost ?? '')).toBe(cost)
  expect(charges).toEqual(cost > 0n ? [cost] : [])
}

function billOf(upstream: Way['upstream'], outcome: Outcome, { request, said }: Heard): Bill {
  // Only one of the protocols speaks of the prompt before the end.
  const prompt = upstream === 'messages' ? PROMPT : { input: promptTokensIn(request) }
  const counted = (status: string, output: number, ending: string | null = null): Bill => ({
    ...{ status, ending, source: 'counted', tokens: { ...prompt, output } },
  })
  switch (outcome.sees) {
    case 'an answer':
      return outcome.progress.isCounted
        ? { status: 'ok', ending: 'stop', source: 'upstream', tokens: REPORTED }
        : counted('ok', tokensOf(TEXT), 'stop')
    case 'an error':
      return { status: outcome.code, ending: null, source: 'estimated', tokens: {} }
    case 'a broken stream':
      return outcome.progress.isCounted
        ? { status: outcome.code, ending: null, source: 'upstream', tokens: REPORTED }
        : counted(outcome.code, relayedTokens(upstream, outcome.progress.text))
    case 'a broken flow':
      return counted(outcome.code, relayedTokens(upstream, said))
    case 'all that the money buys':
      return counted('ok', affordableTokens(ALLOWANCE - costOf(prompt)), 'funds')
    case 'what it wants to':
      return counted('client_gone', relayedTokens(upstream, said))
  }
}

/** Who leaves pays for what was on its way, too: nobody can say how much that was. */
function outputOf({ sees }: Outcome, { said }: Heard, { row }: Booked): Partial<Tokens> {
  if (sees !== 'what it wants to') return {}
  const output = row?.tokens.output ?? 0
  expect(output).toBeGreaterThanOrEqual(tokensOf(said))
  return { output }
}

/** The first frame of messages says that one token was made. */
const relayedTokens = (upstream: Way['upstream'], text: string): number =>
  Math.max(upstream === 'messages' ? 1 : 0, tokensOf(text))

/** The gateway's estimate: four characters a token, but a character of three bytes and more is one by itself. */
function tokensOf(text: string): number {
  const wide = (Buffer.byteLength(text) - text.length) / 2
  return Math.ceil((text.length - wide) / 4 + wide)
}

// ── who was asked ───────────────────────────────────────────────────────────────────────────────────────────────────

/** A fault before the first byte is the second upstream's chance; any other stays where it happened. */
export function expectAttempts({ id, outcome }: Case, attempts: readonly AttemptView[]): void {
  const tried = attempts.map(({ channel, status }) => [channel, status])
  if (outcome.sees === 'an error' && mayFailOver(outcome))
    expect(tried).toEqual([
      [id, outcome.code],
      [secondOf(id), 'ok'],
    ])
  else expect(tried.map(([channel]) => channel)).toEqual([id])
}
