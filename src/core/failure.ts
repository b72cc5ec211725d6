import { atLeastZero, formatMicroDollars, type Nanos, roundedToMicros } from './money.ts'
import { StoreUnavailable } from './store.ts'

/** Everything that can go wrong. A kind without a row in `WIRE` does not compile. */
export type Failure =
  | { readonly kind: 'route-unknown'; readonly method: string; readonly path: string }
  | { readonly kind: 'credential-invalid' }
  | { readonly kind: 'path-unsupported' }
  | { readonly kind: 'body-too-large'; readonly limitBytes: number }
  | { readonly kind: 'body-timeout'; readonly limitSeconds: number }
  | { readonly kind: 'body-encoding-unknown'; readonly encoding: string }
  | { readonly kind: 'body-not-json' }
  | { readonly kind: 'field-missing'; readonly field: string }
  | { readonly kind: 'field-invalid'; readonly param: string; readonly problem: string }
  | { readonly kind: 'thread-unsupported' }
  | {
      readonly kind: 'model-unknown'
      readonly model: string
      readonly group: string
      readonly nearest: readonly string[]
      /** The catalog has it; there is no channel for it. */
      readonly isListed: boolean
    }
  | { readonly kind: 'model-not-allowed'; readonly model: string }
  | { readonly kind: 'price-unknown'; readonly model: string }
  | { readonly kind: 'image-rejected'; readonly model: string; readonly param: string }
  | { readonly kind: 'translation-lossy'; readonly dropped: readonly string[] }
  | { readonly kind: 'balance-empty'; readonly balance: Nanos }
  | { readonly kind: 'balance-too-low'; readonly balance: Nanos; readonly needed: Nanos }
  | { readonly kind: 'cap-reached'; readonly remaining: Nanos; readonly needed: Nanos }
  | { readonly kind: 'upstream-auth' }
  | {
      readonly kind: 'upstream-error'
      readonly problem: string
      /** How long it wants to be left alone, if it says so. */
      readonly restMs?: number | undefined
      /** The connection broke before anything came: one that was kept from an earlier call may have been closed meanwhile. */
      readonly isLost?: boolean
      /** What the upstream itself says is at fault; the channel is not left alone for it. */
      readonly blames?: Blamed | undefined
    }
  | { readonly kind: 'upstream-timeout'; readonly phase: TimeLimit }
  | { readonly kind: 'upstream-rate-limited'; readonly retryAfter: string; readonly restMs?: number | undefined }
  | { readonly kind: 'upstream-invalid-request'; readonly message: string }
  | { readonly kind: 'upstream-unavailable'; readonly model: string; readonly retryAfterSeconds: number }
  | { readonly kind: 'rate-limited'; readonly limit: 'concurrent' | 'per-minute'; readonly retryAfterSeconds: number }
  | { readonly kind: 'overloaded' }
  | { readonly kind: 'repeats-overloaded' }
  | { readonly kind: 'header-invalid'; readonly name: string; readonly problem: string }
  | { readonly kind: 'ceiling-too-low'; readonly needed: Nanos }
  | { readonly kind: 'idempotency-conflict' }
  | { readonly kind: 'answer-not-kept' }
  | { readonly kind: 'ledger-unavailable' }
  | { readonly kind: 'client-gone' }
  | { readonly kind: 'shutting-down' }
  | { readonly kind: 'internal' }

export type FailureKind = Failure['kind']

/** What an upstream may find fault with, other than itself. */
export type Blamed = 'request' | 'key'

/** What an upstream was late with. */
export type TimeLimit = 'connect' | 'first byte' | 'silence' | 'total' | 'caller'

/** Thrown where a failure is known, caught once at the edge. */
export class GatewayError extends Error {
  readonly failure: Failure

  constructor(failure: Failure, cause?: unknown) {
    super(failure.kind, { cause })
    this.name = 'GatewayError'
    this.failure = failure
  }
}

/** Whatever was thrown, as a failure. A stack that ran out was a value nested deeper than any real request. */
export function asGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error
  if (error instanceof StoreUnavailable) return new GatewayError({ kind: 'ledger-unavailable' }, error)
  if (error instanceof RangeError) return invalid('body', 'is nested too deeply')
  return new GatewayError({ kind: 'internal' }, error)
}

/** The store could not be asked: one thing goes wrong for everyone, and is told once, by whoever watches the store. */
export function isStoreAway(error: unknown): boolean {
  if (error instanceof StoreUnavailable) return true
  if (!(error instanceof GatewayError) || error.failure.kind !== 'ledger-unavailable') return false
  return error.cause === undefined || error.cause instanceof StoreUnavailable
}

export const invalid = (param: string, problem: string): GatewayError =>
  new GatewayError({ kind: 'field-invalid', param, problem })

/** Of a whole answer, in bytes as it comes and in characters as it is written: far more than any model writes. */
export const ANSWER_LENGTH_MAX = 64 * 1024 * 1024

export const answerTooLong = (): GatewayError =>
  new GatewayError({ kind: 'upstream-error', problem: 'The upstream sent an answer that is too long' })

/** What a failure looks like from outside, before the request id is added. */
export interface FailureWire {
  readonly status: number
  readonly type: 'duet_api_error' | 'invalid_request_error'
  readonly code: string
  readonly message: string
  readonly param?: string
  /** What the person can do about it; the message itself keeps its fixed wording. */
  readonly hint?: string
  /** Where in the console it is done: the address that `{here}` in the hint stands for. */
  readonly remedy?: string
  readonly details?: Readonly<Record<string, unknown>>
  /** False tells official clients that a retry can never help (`x-should-retry`). */
  readonly mayRetry: boolean
  readonly retryAfter?: string
}

type Row<K extends FailureKind> = (failure: Extract<Failure, { kind: K }>) => FailureWire

const OURS = { type: 'duet_api_error', mayRetry: false } as const
const CALLERS = { type: 'invalid_request_error', mayRetry: false } as const
const PASSING = { type: 'duet_api_error', mayRetry: true } as const

/** A mistyped model id or path is echoed, but never a megabyte of it. */
const ECHO_CHARACTERS_MAX = 200

const LATE: Record<TimeLimit, string> = {
  connect: 'The upstream could not be reached in time',
  'first byte': 'The upstream did not answer in time',
  silence: 'The upstream fell silent',
  total: 'The upstream took longer than a call may take',
  caller: 'The upstream did not answer in the time that the caller waits',
}

const LISTING = 'GET /models lists what can be called.'
const UNSERVED = { hint: 'The catalog has this model, but no channel serves it{here}.', remedy: '/channels' }

// Section 7 of the interface fixes statuses, codes and wordings, odd ones included.
const WIRE: { readonly [K in FailureKind]: Row<K> } = {
  'route-unknown': ({ method, path }) => ({
    ...CALLERS,
    status: 404,
    code: '',
    param: '',
    message: `Invalid URL (${method} ${echo(path)})`,
  }),
  'credential-invalid': () => ({
    ...OURS,
    status: 401,
    code: '',
    message: 'Invalid token',
    hint: 'Send a valid key as "Authorization: Bearer <key>" or "x-api-key: <key>"; keys are made in the console{here}.',
    remedy: '/keys',
  }),
  'path-unsupported': () => ({
    ...CALLERS,
    status: 400,
    code: 'invalid_request_error',
    message: 'field messages is required and must be a non-empty array',
    hint: 'This path is not served; use /chat/completions or /messages.',
  }),
  'body-too-large': ({ limitBytes }) => ({
    ...CALLERS,
    status: 413,
    code: 'request_too_large',
    message: `Request body is larger than ${limitBytes} bytes`,
  }),
  'body-timeout': ({ limitSeconds }) => ({
    ...PASSING,
    status: 408,
    code: 'request_timeout',
    message: `Request body did not arrive within ${limitSeconds} seconds`,
  }),
  'body-encoding-unknown': ({ encoding }) => ({
    ...CALLERS,
    status: 415,
    code: 'unsupported_content_encoding',
    message: `Content-Encoding ${echo(encoding)} is not supported`,
    hint: 'Send the body plain, or as gzip, deflate, br or zstd.',
  }),
  'body-not-json': () => ({
    ...OURS,
    status: 400,
    code: '',
    message: 'Invalid request: Invalid request: invalid JSON request body',
    hint: 'The body must be one JSON object.',
  }),
  'field-missing': ({ field }) => ({
    ...OURS,
    status: 500,
    code: 'invalid_request',
    param: field,
    message: `field ${field} is required`,
  }),
  'field-invalid': ({ param, problem }) => ({
    ...CALLERS,
    status: 400,
    code: 'invalid_request',
    param: echo(param),
    message: `field ${echo(param)} ${problem}`,
  }),
  'thread-unsupported': () => ({
    ...CALLERS,
    status: 400,
    code: 'invalid_request',
    param: 'thread',
    message: 'field thread is not supported',
    hint: 'Send the whole conversation in messages.',
    details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
  }),
  'model-unknown': ({ model, group, nearest, isListed }) => ({
    ...OURS,
    status: 503,
    code: 'model_not_found',
    param: 'model',
    message: `No available channel for model ${echo(model)} under group ${group} (distributor)`,
    ...(isListed ? UNSERVED : { hint: nearest.length ? `Did you mean ${nearest.join(' or ')}?` : LISTING }),
  }),
  'model-not-allowed': ({ model }) => ({
    ...OURS,
    status: 403,
    code: 'model_not_allowed',
    param: 'model',
    message: `This key may not use model ${model}`,
    hint: 'Change the models of this key{here}, or use another one.',
    remedy: '/keys',
  }),
  'price-unknown': ({ model }) => ({
    ...OURS,
    status: 503,
    code: 'model_price_unknown',
    param: 'model',
    message: `No price is set for model ${model}, so it cannot be billed`,
    hint: 'The operator must give this model a price, in duet.yaml or in the console{here}.',
    remedy: '/models',
  }),
  'image-rejected': ({ model, param }) => ({
    ...CALLERS,
    status: 400,
    code: 'invalid_request',
    param,
    message: `field ${param} holds an image, and model ${model} does not accept images`,
  }),
  'translation-lossy': ({ dropped }) => ({
    ...CALLERS,
    status: 400,
    code: 'translation_lossy',
    message: `This model cannot be given: ${dropped.join(', ')}`,
    hint: 'Leave these out, or send the request without x-duet-strict to have them dropped.',
  }),
  'balance-empty': ({ balance }) => ({
    ...OURS,
    status: 403,
    code: 'insufficient_user_quota',
    message: `用户额度不足, 剩余额度: ${quota(atLeastZero(balance))}`,
    hint: 'The account has no credit left: top it up{here}; a higher cap of the key does not help.',
    remedy: '/billing',
  }),
  'balance-too-low': ({ balance, needed }) => ({
    ...OURS,
    status: 403,
    code: 'insufficient_user_quota',
    message: `预扣费额度失败, 用户剩余额度: ${quota(balance)}, 需要预扣费额度: ${quota(roundedToMicros(needed))}`,
    hint: 'The account has too little credit for this call: top it up{here}; a higher cap of the key does not help.',
    remedy: '/billing',
  }),
  'cap-reached': ({ remaining, needed }) => ({
    ...OURS,
    status: 403,
    code: 'pre_consume_token_quota_failed',
    message: `token quota is not enough, token remain quota: ${quota(remaining)}, need quota: ${quota(roundedToMicros(needed))}`,
    hint: "This key's cap is reached: raise or remove it{here}; a top-up does not help.",
    remedy: '/keys',
  }),
  'upstream-auth': () => ({
    ...PASSING,
    status: 502,
    code: 'upstream_auth_failed',
    message: 'The upstream refused the credential of this gateway',
    hint: 'The operator must check the api_key of the channel that serves this model{here}.',
    remedy: '/channels',
  }),
  'upstream-error': ({ problem }) => ({ ...PASSING, status: 502, code: 'upstream_error', message: problem }),
  'upstream-timeout': ({ phase }) => ({
    ...PASSING,
    status: 504,
    code: 'upstream_timeout',
    message: LATE[phase],
  }),
  'upstream-rate-limited': ({ retryAfter }) => ({
    ...PASSING,
    status: 429,
    code: 'upstream_rate_limited',
    message: 'The upstream is limiting requests',
    retryAfter,
  }),
  'upstream-invalid-request': ({ message }) => ({
    ...CALLERS,
    status: 400,
    code: 'upstream_invalid_request',
    message,
  }),
  'upstream-unavailable': ({ model, retryAfterSeconds }) => ({
    ...PASSING,
    status: 503,
    code: 'upstream_unavailable',
    message: `No upstream for model ${model} is available right now`,
    hint: 'Try again later; the operator can see why{here}.',
    remedy: '/channels',
    retryAfter: String(retryAfterSeconds),
  }),
  'rate-limited': ({ limit, retryAfterSeconds }) => ({
    ...PASSING,
    status: 429,
    code: 'rate_limited',
    message:
      limit === 'concurrent'
        ? 'This key has as many requests under way as it may have'
        : 'This key has made as many requests in a minute as it may make',
    hint: 'Wait, or change the limits of this key{here}.',
    remedy: '/keys',
    retryAfter: String(retryAfterSeconds),
  }),
  overloaded: () => ({
    ...PASSING,
    status: 503,
    code: 'overloaded',
    message: 'The gateway has as many requests under way as it can take',
    retryAfter: '1',
  }),
  'repeats-overloaded': () => ({
    ...PASSING,
    status: 503,
    code: 'overloaded',
    message: 'Too many stored answers are being read to read another one; this one is still kept',
    retryAfter: '1',
  }),
  'header-invalid': ({ name, problem }) => ({
    ...CALLERS,
    status: 400,
    code: 'invalid_request',
    param: name,
    message: `header ${name} ${problem}`,
  }),
  'ceiling-too-low': ({ needed }) => ({
    ...CALLERS,
    status: 400,
    code: 'max_cost_too_low',
    param: 'x-duet-max-cost',
    message: `header x-duet-max-cost allows less than the prompt and one token of this request cost ($${formatMicroDollars(roundedToMicros(needed))})`,
    hint: 'Raise the ceiling, or send the request without it.',
  }),
  // Official clients would retry every 409; these two stay as they are.
  'idempotency-conflict': () => ({
    ...CALLERS,
    status: 409,
    code: 'idempotency_conflict',
    param: 'idempotency-key',
    message: 'This idempotency-key was used for another request',
    hint: 'A repeat has the same bytes on the same path; a new request needs a new key.',
  }),
  'answer-not-kept': () => ({
    ...CALLERS,
    status: 409,
    code: 'idempotency_not_kept',
    param: 'idempotency-key',
    message: 'The answer to this request could not be kept for a repeat',
    hint: 'It was answered and charged once; whoever wants it again sends it with a new idempotency-key.',
  }),
  'ledger-unavailable': () => ({
    ...PASSING,
    status: 503,
    code: 'ledger_unavailable',
    message: 'The ledger is not available, so nothing can be billed',
    retryAfter: '1',
  }),
  // Nobody reads this one: it names the ending in logs and usage records.
  'client-gone': () => ({ ...PASSING, status: 499, code: 'client_gone', message: 'The client closed the connection' }),
  'shutting-down': () => ({
    ...PASSING,
    status: 503,
    code: 'shutting_down',
    message: 'The gateway is shutting down',
    retryAfter: '1',
  }),
  internal: () => ({ ...PASSING, status: 500, code: 'internal_error', message: 'Internal error' }),
}

export function wireOf(failure: Failure): FailureWire {
  const row = WIRE[failure.kind] as Row<FailureKind>
  return row(failure)
}

/** What records, logs and metrics call a failure: some have no code on the wire. */
export const codeOf = (failure: Failure): string => wireOf(failure).code || failure.kind

const STORED_CHARACTERS_MAX = 2_000

/** What the caller is told, as a record keeps it. */
export const messageOf = (failure: Failure): string => storable(wireOf(failure).message, STORED_CHARACTERS_MAX)

/**
 * Text of a stranger that will be stored, and shown to somebody else: without halves of characters, which not every
 * store takes, and without what moves the cursor of a terminal.
 */
export const storable = (text: string, charactersMax: number): string =>
  text
    .slice(0, charactersMax)
    .toWellFormed()
    .replace(/[^\P{Cc}\n]/gu, '')

/** What an error says of where it happened, and of where to go with it. */
export interface ErrorContext {
  readonly requestId: string
  readonly consoleUrl?: string | undefined
}

/** The `error` object of both protocols. */
export function errorObject(failure: Failure, { requestId, consoleUrl }: ErrorContext): Record<string, unknown> {
  const wire = wireOf(failure)
  const { message, type, code, param, details } = wire
  const hint = hintOf(wire, consoleUrl)
  const error: Record<string, unknown> = { message: `${message} (request id: ${requestId})`, type, code }
  if (param !== undefined) error.param = param
  if (hint !== undefined) error.hint = hint
  if (details !== undefined) error.details = details
  return error
}

function hintOf({ hint, remedy = '' }: FailureWire, consoleUrl: string | undefined): string | undefined {
  return hint?.replace('{here}', consoleUrl === undefined ? '' : ` (${consoleUrl}${remedy})`)
}

/** U+FF04, the fullwidth dollar sign, as callers' scripts expect it. */
const quota = (amount: Nanos): string => `＄${formatMicroDollars(amount)}`

const echo = (text: string): string =>
  text.length > ECHO_CHARACTERS_MAX ? `${text.slice(0, ECHO_CHARACTERS_MAX)}…` : text
