import type { Closing, HoldRequest, Refusal } from '../../../src/core/ledger.ts'
import { type Nanos, nanos } from '../../../src/core/money.ts'
import type { Price, PriceVersion } from '../../../src/core/price.ts'
import type { Usage } from '../../../src/core/usage.ts'
import { BALANCE_MAX, type Model, perMillion } from './model.ts'
import type { Question, Submission } from './operations.ts'
import type { Random } from './random.ts'

export const ACCOUNTS = ['ann', 'ben', 'cy']
export const MODELS = ['acme/swift', 'acme/large']
/** Prices that hardly any number of tokens comes out even with. */
export const FIRST_PRICE: Price = {
  input: perMillion(250_000_003n),
  output: perMillion(2_000_000_011n),
  cacheRead: perMillion(25_000_001n),
  cacheWrite: perMillion(312_500_007n),
}

const DEPOSIT_MAX = 12_000_000n
const HOLD_MAX = 4_000_000n
const CAP_MAX = 15_000_000n
const BURST_MAX = 40
/** With more than this, few are added. */
const HOLDS_MAX = 15
const KEYS_MAX = 9

/** What is submitted in one tick. */
export interface Step {
  readonly submissions: readonly Submission[]
  /** Of equal holds, how many there is money for. */
  readonly admissions?: number
}

/** Draws what happens next. It looks at the model only to find things to do that are worth doing. */
export class Generator {
  private readonly random: Random
  private count = 0
  private readonly requests = new Map<string, { request: HoldRequest; price: PriceVersion }>()
  /** To be settled again; those of this step only later, for nobody settles what is not held yet. */
  private readonly closings: Closing[] = []
  private fresh: Closing[] = []
  private readonly refusals: Refusal[] = []
  private readonly sources: string[] = []

  constructor(random: Random) {
    this.random = random
  }

  step(model: Model, now: number): Step {
    this.closings.push(...this.fresh)
    this.fresh = []
    const kind = this.random.weighted({ one: 70, burst: 6, rush: 1.5, directory: 14, tend: 3, recover: 1 })
    switch (kind) {
      case 'one':
        return { submissions: this.some(model, now) }
      case 'burst':
        return { submissions: this.burst(model, now) }
      case 'rush':
        return this.rush(model, now)
      case 'directory':
        return { submissions: [{ question: this.directory(model, now) }] }
      case 'tend':
        return { submissions: [{ question: { type: 'tend', at: now } }] }
      case 'recover':
        return { submissions: [{ question: { type: 'recover' } }] }
    }
  }

  /** Money to begin with, and caps for every other key. */
  *opening(model: Model, now: number): Iterable<Question> {
    for (const accountId of ACCOUNTS) yield this.deposit(accountId, now)
    for (const keyId of model.keys.keys()) {
      if (this.random.chance(0.5)) yield { type: 'cap', keyId, cap: nanos(this.random.amount(CAP_MAX)) }
    }
  }

  // ── several at once ───────────────────────────────────────────────────────────────────────────────────────────────

  private burst(model: Model, now: number): Submission[] {
    const size = this.random.chance(0.2) ? this.random.between(2, BURST_MAX) : this.random.between(2, 8)
    const submissions: Submission[] = []
    while (submissions.length < size) submissions.push(...this.some(model, now))
    if (this.random.chance(0.1)) submissions.push({ question: { type: 'tend', at: now } })
    if (this.random.chance(0.1)) submissions.push({ question: this.impossible(model, now) })
    if (this.random.chance(0.2)) submissions.push(...this.changes(model))
    return shuffle(submissions, this.random)
  }

  /** Equal holds of one key, all at once: as many are admitted as there is money for. */
  private rush(model: Model, now: number): Step {
    const keyId = this.aKey(model)
    const size = this.random.between(5, BURST_MAX)
    const { balance, available, remaining } = model.left(keyId)
    const amount = nanos(1n + this.random.amount(available / BigInt(this.random.between(1, size))))
    const holds = Array.from({ length: size }, () => this.hold(model, now, { keyId, most: amount, least: amount }))
    const limit = remaining !== undefined && remaining < available ? remaining : available
    const isAdmitted = model.isUsable(keyId) && balance > 0n && limit > 0n
    const admissions = isAdmitted ? Math.min(size, Number(limit / amount)) : 0
    return { submissions: holds.map(question => ({ question })), admissions }
  }

  // ── money ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  private some(model: Model, now: number): Submission[] {
    const { size } = model.holds
    const ifAny = (count: number, weight: number) => (count > 0 ? weight : 0)
    const kind = this.random.weighted({
      ...{ hold: size > HOLDS_MAX ? 5 : 32, call: 5, deposit: 7, depositAgain: ifAny(this.sources.length, 3) },
      ...{ refuse: 4, refuseStray: ifAny(model.strays.size, 20), refuseAgain: ifAny(this.refusals.length, 1) },
      ...{ extend: ifAny(size, 10), settle: ifAny(size, 28), both: ifAny(size, 5) },
      ...{ extendAny: ifAny(this.requests.size, 2), settleAgain: ifAny(this.closings.length, 6) },
    })
    switch (kind) {
      case 'call':
        return [this.call(model, now)]
      case 'both': {
        const requestId = this.aHold(model)
        return [{ question: this.extend(requestId, now) }, { question: this.settle(model, requestId, now) }]
      }
      case 'hold':
        return [{ question: this.hold(model, now) }]
      case 'refuse':
        return [{ question: this.refuse(`r${++this.count}`, this.aKey(model), { model, now }) }]
      case 'refuseStray': {
        const requestId = this.random.pick([...model.strays])
        return [{ question: this.refuse(requestId, model.holds.get(requestId)?.keyId ?? '', { model, now }) }]
      }
      case 'refuseAgain':
        return [{ question: { type: 'refuse', refusal: this.random.pick(this.refusals) } }]
      case 'extend':
        return [{ question: this.extend(this.aHold(model), now) }]
      case 'extendAny':
        return [{ question: this.extend(this.random.pick([...this.requests.keys()]), now) }]
      case 'settle':
        return [{ question: this.settle(model, this.aHold(model), now) }]
      case 'settleAgain':
        return [{ question: { type: 'settle', closing: this.random.pick(this.closings) } }]
      case 'deposit':
        return [{ question: this.deposit(this.random.chance(0.05) ? 'nobody' : this.random.pick(ACCOUNTS), now) }]
      case 'depositAgain':
        return [{ question: this.deposit(this.random.pick(ACCOUNTS), now, this.random.pick(this.sources)) }]
    }
  }

  /** A whole request, each part submitted when the one before it is answered. */
  private call(model: Model, now: number): Submission {
    const hold = this.hold(model, now)
    const { requestId } = hold.request
    const settle: Submission = { question: this.settle(model, requestId, now) }
    if (this.random.chance(0.5)) return { question: hold, next: settle }
    return { question: hold, next: { question: this.extend(requestId, now), next: settle } }
  }

  private hold(model: Model, now: number, wanted: { keyId?: string; most?: Nanos; least?: Nanos } = {}) {
    const keyId = wanted.keyId ?? this.aKey(model)
    const most = wanted.most ?? nanos(this.random.amount(HOLD_MAX))
    const least = wanted.least ?? nanos(this.random.amount(most))
    const price = model.priceOf(this.random.pick(MODELS))
    const request: HoldRequest = {
      ...{ requestId: `r${++this.count}`, accountId: model.keys.get(keyId)?.accountId ?? '', keyId },
      ...{ call: this.heldCall(price), most, least, at: now },
    }
    this.requests.set(request.requestId, { request, price })
    return { type: 'hold', request } satisfies Question
  }

  private heldCall({ model, id }: PriceVersion): HoldRequest['call'] {
    const protocol = this.random.pick(['chat', 'messages'] as const)
    const stream = this.random.chance(0.5)
    return { model, channel: 'acme', protocol, upstreamProtocol: 'chat', stream, priceId: id }
  }

  private extend(requestId: string, now: number): Question {
    const most = nanos(this.random.amount(HOLD_MAX / 2n))
    return { type: 'extend', extension: { requestId, most, least: nanos(this.random.amount(most)) }, at: now }
  }

  private settle(model: Model, requestId: string, now: number): Question {
    const known = this.requests.get(requestId)
    if (!known) throw new Error(`nobody remembers ${requestId}`)
    const { request, price } = known
    const held = model.holds.get(requestId)?.amount ?? request.most
    const closing: Closing = {
      ...{ requestId, accountId: request.accountId, keyId: request.keyId, call: request.call, price },
      ...{ usage: this.usage(held, price), source: this.random.pick(['upstream', 'counted', 'estimated'] as const) },
      ...{ startedAt: request.at, firstByteMs: undefined, durationMs: now - request.at },
      ...(this.random.chance(0.8) ? { status: 'ok', ending: 'stop' } : { status: 'upstream_error', ending: undefined }),
    }
    this.fresh.push(closing)
    return { type: 'settle', closing }
  }

  /** One that is refused never held anything, or was told so by mistake. */
  private refuse(requestId: string, keyId: string, { model, now }: { model: Model; now: number }): Question {
    const refusal: Refusal = {
      ...{ requestId, accountId: model.keys.get(keyId)?.accountId ?? '', keyId, startedAt: now, durationMs: 0 },
      ...{ model: this.random.pick([...MODELS, 'acme/unknown', '']), protocol: 'chat', stream: false },
      ...{ status: this.random.pick(['insufficient_user_quota', 'model_not_found']), error: 'no' },
    }
    this.refusals.push(refusal)
    return { type: 'refuse', refusal }
  }

  /** Nothing, less than was held, about as much, or more. */
  private usage(held: bigint, price: Price): Usage {
    const share = this.random.weighted({ 0: 1, 30: 3, 80: 3, 100: 1, 150: 2 })
    if (share === '0') return { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 }
    const most = price.output === 0n ? 1_000 : Number((held * BigInt(share) * 10_000n) / price.output)
    const output = this.random.between(0, Math.max(1, most))
    const [input, cacheRead, cacheWrite] = [this.few(), this.few(), this.few()]
    return { input, cacheRead, cacheWrite, output, reasoning: this.random.between(0, output) }
  }

  private few(): number {
    return this.random.chance(0.5) ? 0 : this.random.between(1, 400)
  }

  private deposit(accountId: string, now: number, source = `s${++this.count}`): Question {
    const isTopUp = this.random.chance(0.75)
    const amount = this.random.chance(0.02) ? 2n * BALANCE_MAX : this.random.amount(DEPOSIT_MAX)
    this.sources.push(source)
    return {
      type: 'deposit',
      deposit: {
        ...{ kind: isTopUp ? 'topup' : 'adjustment', accountId, source, note: undefined, at: now },
        amount: nanos(isTopUp || amount > DEPOSIT_MAX ? amount : amount / 2n - DEPOSIT_MAX / 8n),
      },
    }
  }

  /** Nobody can write this; whoever is in the same batch must not notice. */
  private impossible(model: Model, now: number): Question {
    const { request } = this.hold(model, now)
    this.requests.delete(request.requestId)
    return { type: 'hold', request: { ...request, keyId: 'nobody' } }
  }

  // ── keys and prices ───────────────────────────────────────────────────────────────────────────────────────────────

  private directory(model: Model, now: number): Question {
    switch (this.random.weighted({ cap: 6, enable: 2, revoke: 1, key: 2, publish: 3 })) {
      case 'cap':
        return this.cap(model)
      case 'enable':
        return { type: 'enable', keyId: this.random.pick([...model.keys.keys()]), enabled: this.random.chance(0.7) }
      case 'revoke':
        return { type: 'revoke', keyId: this.random.pick([...model.keys.keys()]), at: now }
      case 'key': {
        if (model.keys.size >= KEYS_MAX) return this.cap(model)
        return { type: 'key', keyId: `k${++this.count}`, accountId: this.random.pick(ACCOUNTS), at: now }
      }
      case 'publish':
        return { type: 'publish', model: this.random.pick(MODELS), price: this.price(), at: now }
    }
  }

  private cap(model: Model, [keyId, key] = this.random.pick([...model.keys])): Question {
    if (this.random.chance(0.3)) return { type: 'cap', keyId, cap: undefined }
    const cap = key.spent + this.random.amount(CAP_MAX) - CAP_MAX / 8n
    return { type: 'cap', keyId, cap: nanos(cap < 0n ? 0n : cap) }
  }

  /** In half of the cases, two people change one key at the same time. */
  private changes(model: Model): Submission[] {
    const key = this.random.pick([...model.keys])
    const cap = { question: this.cap(model, key) }
    if (this.random.chance(0.5)) return [cap]
    return [cap, { question: { type: 'enable', keyId: key[0], enabled: this.random.chance(0.7) } }]
  }

  private price(): Price {
    if (this.random.chance(0.3)) return FIRST_PRICE
    const price = (most: bigint) => perMillion(this.random.chance(0.1) ? 0n : this.random.amount(most))
    const [input, output] = [price(600_000_000n), price(4_000_000_000n)]
    return { input, output, cacheRead: price(60_000_000n), cacheWrite: price(700_000_000n) }
  }

  // ── who ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Mostly one that can be used; others may have been when their caller was let in. */
  private aKey(model: Model): string {
    const keys = [...model.keys.keys()]
    const usable = keys.filter(id => model.isUsable(id))
    return this.random.pick(usable.length === 0 || this.random.chance(0.05) ? keys : usable)
  }

  private aHold(model: Model): string {
    return this.random.pick([...model.holds.keys()])
  }
}

function shuffle<T>(list: readonly T[], random: Random): T[] {
  const shuffled = [...list]
  for (let place = shuffled.length - 1; place > 0; place--) {
    const other = random.between(0, place)
    ;[shuffled[place], shuffled[other]] = [shuffled[other] as T, shuffled[place] as T]
  }
  return shuffled
}
