import type { Random } from '../test/ledger/property/random.ts'
import type { Duet } from '../test/support/duet.ts'
import { CHAT, MESSAGES, user } from '../test/support/http.ts'
import type { ProtocolName } from '../test/support/wire.ts'
import { MODELS } from './catalog.ts'
import { costIn, type Heard, judge, type Manner, type Question } from './judge.ts'

/** The keys of those who call. */
export interface Purses {
  readonly rich: string
  /** One request at a time, and not many in a minute. */
  readonly limited: string
  readonly poor: string
}

interface CallersDeps {
  readonly duet: Duet
  readonly purses: Purses
  readonly random: Random
}

const CALLERS = 24
const THOUGHT_MS_MAX = 60
const SLOW_MS_MAX = 200
/** The frames of an answer are longer than this. */
const ENOUGH_CHARACTERS_MAX = 1_500

const MANNERS: Readonly<Record<Manner, number>> = {
  reads: 55,
  'reads slowly': 6,
  'is in a hurry': 4,
  'leaves at once': 5,
  'leaves midway': 8,
  repeats: 8,
  'limits its cost': 6,
  'is limited': 5,
  'is poor': 4,
  'is wrong': 3,
}

/** Longer than all attempts at all upstreams of a model may take together. */
const ANSWER_MS_MAX = 30_000
const IMPATIENCE_MS_MAX = 300
const LATE = new Error('no answer in time')
const GONE = new Error('the caller has left')
/** So many answers are looked up in the books. */
const LOOKED_UP_SHARE = 0.05
const PROBLEMS_MAX = 20

/** Many who call at once, each one thing after the other, until they are told to stop. */
export class Callers {
  readonly kinds = new Map<string, number>()
  /** The first of them, in words. */
  readonly problems: string[] = []
  asked = 0
  faulty = 0
  lookedUp = 0
  private readonly deps: CallersDeps
  private isOver = false
  private pause: Promise<unknown> | undefined
  private readonly loops: readonly Promise<void>[]

  constructor(deps: CallersDeps) {
    this.deps = deps
    this.loops = Array.from({ length: CALLERS }, () => this.loop())
  }

  /** Nobody asks anything for a while. */
  rest(ms: number): void {
    this.pause = Bun.sleep(ms)
  }

  async end(): Promise<void> {
    this.isOver = true
    await Promise.all(this.loops)
  }

  private async loop(): Promise<void> {
    const { random } = this.deps
    while (!this.isOver) {
      await this.pause
      const question = this.invent()
      await this.act(question).catch(error => this.complain(`${question.manner}: ${error}`))
      await Bun.sleep(random.between(0, THOUGHT_MS_MAX))
    }
  }

  private invent(): Question {
    const { random, purses } = this.deps
    const manner = random.weighted(MANNERS)
    const protocol: ProtocolName = random.pick(['chat', 'messages'])
    const stream = random.chance(0.5)
    const model = manner === 'is wrong' && random.chance(0.5) ? 'acme/nowhere' : random.pick(MODELS)
    const messages = manner === 'is wrong' ? [] : user(`Tell me something. ${random.next()}`)
    const usage = stream && protocol === 'chat' ? { stream_options: { include_usage: true } } : {}
    return {
      ...{ manner, protocol, stream },
      key: manner === 'is limited' ? purses.limited : manner === 'is poor' ? purses.poor : purses.rich,
      headers: this.headersOf(manner),
      body: { model, max_tokens: 500, messages, stream, ...usage },
    }
  }

  private headersOf(manner: Manner): Record<string, string> {
    const { random } = this.deps
    // From less than the prompt costs to more than the whole answer.
    if (manner === 'limits its cost') return { 'x-duet-max-cost': (random.between(1, 60) / 1_000_000).toFixed(6) }
    if (manner === 'is in a hurry') return { 'x-stainless-timeout': '1' }
    return manner === 'repeats' ? { 'idempotency-key': `name-${random.next()}` } : {}
  }

  private async act(question: Question): Promise<void> {
    const { random } = this.deps
    if (question.manner !== 'repeats') return void (await this.ask(question))
    const first = this.ask(question)
    // While the first is under way, or when it is over; the same again, or something else under the same name.
    if (random.chance(0.5)) await first
    const isSame = random.chance(0.8)
    const other = { ...question, body: { ...question.body, messages: user('Something else.') } }
    const [one, two] = await Promise.all([first, this.ask(isSame ? question : other)])
    if (isSame && one.isComplete && two.isComplete && one.text !== two.text) {
      this.complain(`a repeat got another answer: ${one.text} and ${two.text}`)
    }
  }

  private async ask(question: Question): Promise<{ isComplete: boolean; text: string }> {
    this.asked++
    const heard = await this.converse(question)
    if (heard === undefined) {
      count(this.kinds, 'left')
      return { isComplete: false, text: '' }
    }
    const { kind, problem, isComplete } = judge(question, heard)
    count(this.kinds, kind)
    if (problem !== undefined) this.complain(`${question.manner}, ${heard.requestId}: ${problem}`)
    if (this.deps.random.chance(LOOKED_UP_SHARE)) await this.lookUp(question, heard, isComplete)
    return { isComplete, text: heard.text }
  }

  /** What was told is what was charged; who got nothing pays nothing, unless it would not wait. A repeat has no record of its own. */
  private async lookUp(question: Question, heard: Heard, isComplete: boolean): Promise<void> {
    const isFailed = heard.status === 502 || (heard.status === 504 && question.manner !== 'is in a hurry')
    if (question.manner === 'repeats' || !(isComplete || isFailed)) return
    const told = isComplete ? costIn(question, heard.text) : '0.00'
    const { status, body } = await this.deps.duet.admin('GET', `/api/usage/${heard.requestId}`)
    this.lookedUp++
    if (status !== 200 || body.cost !== told)
      this.complain(`${heard.requestId} was told ${told} and charged ${body.cost} (${status}, ${body.status})`)
  }

  /** Undefined for one who has left before there was anything to hear. */
  private async converse(question: Question): Promise<Heard | undefined> {
    const { manner, protocol, key, headers, body } = question
    const leaving = new AbortController()
    const late = setTimeout(() => leaving.abort(LATE), ANSWER_MS_MAX)
    if (manner === 'leaves at once')
      setTimeout(() => leaving.abort(GONE), this.deps.random.between(1, IMPATIENCE_MS_MAX))
    let response: Response | undefined
    let text = ''
    let broke: string | undefined
    try {
      response = await fetch(this.deps.duet.url + (protocol === 'chat' ? CHAT : MESSAGES), {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, ...headers },
        body: JSON.stringify(body),
        signal: leaving.signal,
        keepalive: false,
      })
      text = await this.read(response, manner)
    } catch (error) {
      if (leaving.signal.reason === GONE) return undefined
      broke = String(error)
    } finally {
      clearTimeout(late)
    }
    return { status: response?.status ?? 0, requestId: response?.headers.get('x-request-id') ?? '', text, broke }
  }

  private async read(response: Response, manner: Manner): Promise<string> {
    const { random } = this.deps
    const decoder = new TextDecoder()
    const isLeaving = manner === 'leaves midway' && response.status === 200
    const enough = isLeaving ? random.between(1, ENOUGH_CHARACTERS_MAX) : Number.POSITIVE_INFINITY
    let text = ''
    for await (const bytes of response.body ?? []) {
      text += decoder.decode(bytes, { stream: true })
      if (text.length >= enough) break
      if (manner === 'reads slowly') await Bun.sleep(random.between(1, SLOW_MS_MAX))
    }
    return text
  }

  private complain(problem: string): void {
    this.faulty++
    if (this.problems.length < PROBLEMS_MAX) this.problems.push(problem.slice(0, 500))
  }
}

function count(counts: Map<string, number>, what: string): void {
  counts.set(what, (counts.get(what) ?? 0) + 1)
}
