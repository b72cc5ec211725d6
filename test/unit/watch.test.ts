import { afterEach, beforeEach, expect, test } from 'bun:test'
import { join } from 'node:path'
import { Abort } from '../../src/core/abort.ts'
import type { Channel, ChannelTimeouts } from '../../src/core/catalog.ts'
import { newKey } from '../../src/core/key.ts'
import type { HeldCall, LedgerOperation, LedgerOutcome, LedgerStore } from '../../src/core/ledger.ts'
import { nanos, pricePerMillion } from '../../src/core/money.ts'
import type { Store } from '../../src/core/store.ts'
import { Meter } from '../../src/gateway/meter.ts'
import { STREAM_WINDOW_TOKENS } from '../../src/gateway/reserve.ts'
import { Settlement } from '../../src/gateway/settlement.ts'
import { Tries } from '../../src/gateway/tries.ts'
import { WatchedStream } from '../../src/gateway/watch.ts'
import { Ledger } from '../../src/ledger/ledger.ts'
import { asSource } from '../../src/protocol/json.ts'
import { PROTOCOLS } from '../../src/protocol/protocols.ts'
import { Breakers } from '../../src/routing/breakers.ts'
import { Health } from '../../src/routing/health.ts'
import { openSqlite } from '../../src/store/sqlite/open.ts'
import { callUpstream } from '../../src/upstream/client.ts'
import { framesWith } from '../faults/said.ts'
import { newFolder } from '../support/duet.ts'
import { eventStream, type ScriptedUpstream, scriptUpstream } from '../support/upstream.ts'

const TOKEN = pricePerMillion(1)
const PRICE = { input: TOKEN, output: TOKEN, cacheRead: TOKEN, cacheWrite: TOKEN }
const VERSION = { ...PRICE, id: 1, model: 'acme/swift', version: 1, since: 0 }
const WINDOW = nanos(BigInt(STREAM_WINDOW_TOKENS) * 1_000n)

const TIMEOUTS: ChannelTimeouts = { connectMs: 20_000, firstByteMs: 20_000, idleMs: 20_000, totalMs: 2_000 }

const CHANNEL: Channel = {
  ...{ name: 'acme', priority: 0, weight: 1, protocol: 'chat', baseUrl: 'http://127.0.0.1', groups: ['default'] },
  ...{ origin: 'file', vendor: undefined, hidesConsole: false, isPaused: false, models: new Map() },
  ...{ keys: [], usableKeys: [], timeouts: TIMEOUTS, withheld: [], replyHeaders: {} },
  breaker: { failures: 5, coolDownMs: 1_000, coolDownMsMax: 60_000 },
}

const MODEL = {
  ...{ id: 'acme/swift', name: 'Swift', description: '', price: PRICE, contextLength: 100_000, hides: undefined },
  ...{ maxOutputTokens: 50_000, images: undefined, recommended: false, reasoning: false, enabled: true },
  origin: 'file',
} as const

const CALL: HeldCall = {
  ...{ model: MODEL.id, channel: CHANNEL.name, protocol: 'chat', upstreamProtocol: 'chat' },
  ...{ stream: true, priceId: VERSION.id },
}

const VIEW = {
  ...{ id: 'f'.repeat(32), model: MODEL.id, createdSeconds: 0, includeUsage: false, choices: 1, promptEstimate: 0 },
  ...{ showThinking: false, textTools: new Set<string>(), legacyCalls: false, wantsJson: false },
}

/** A ledger's store that takes its time. */
class SlowStore implements LedgerStore {
  /** How many wait. */
  waiting = 0
  private readonly inner: LedgerStore
  private gate: PromiseWithResolvers<void> | undefined

  constructor(inner: LedgerStore) {
    this.inner = inner
  }

  stop(): void {
    this.gate = Promise.withResolvers()
  }

  goOn(): void {
    this.gate?.resolve()
  }

  async commit(batch: readonly LedgerOperation[]): Promise<readonly LedgerOutcome[]> {
    this.waiting++
    await this.gate?.promise
    this.waiting--
    return this.inner.commit(batch)
  }
}

let store: Store
let slow: SlowStore
let ledger: Ledger
let keyId: string
let upstream: ScriptedUpstream
beforeEach(async () => {
  store = openSqlite({ path: join(newFolder(), 'duet.db'), durability: 'process' })
  slow = new SlowStore(store.ledger)
  ledger = new Ledger(slow, { owner: 'owner', clock: () => 0 })
  await store.directory.createAccount({ id: 'acc', name: 'acc', group: 'g', createdAt: 0 })
  keyId = (await store.directory.createKey(newKey('secret', { accountId: 'acc', name: 'key', createdAt: 0 }))).id
  const money = { kind: 'topup', amount: nanos(WINDOW * 9n), source: 'x', note: undefined } as const
  await ledger.deposit({ accountId: 'acc', ...money, at: 0 })
  await ledger.hold({ requestId: 'r', accountId: 'acc', keyId, call: CALL, most: WINDOW, least: WINDOW, at: 0 })
})
afterEach(async () => {
  await upstream.stop()
  await store.close()
})

/** A stream that holds one window, of an upstream that says this. */
async function open(frames: Parameters<typeof eventStream>[0]) {
  upstream = scriptUpstream(() => eventStream(frames, 'silence'))
  const abort = new Abort()
  const clock = () => 0
  const tries = new Tries(
    { channel: CHANNEL, key: undefined },
    {
      ...{ requestId: 'r', model: MODEL, clock, startedAt: 0, health: new Health(clock) },
      ...{ breakers: new Breakers({ clock, now: clock, tell() {} }), counts: { attempt() {}, retry() {} } },
    },
  )
  const opening = { requestId: 'r', accountId: 'acc', keyId, call: CALL, price: VERSION, startedAt: 0 }
  const settlement = new Settlement(opening, { ledger, clock, tries, source: asSource('{}') })
  const metered = { requestId: 'r', price: PRICE, promptEstimate: 0, held: WINDOW, limitTokens: 50_000 }
  const stream = new WatchedStream({
    ...{ settlement, meter: new Meter(metered, ledger), protocol: PROTOCOLS.chat, requestId: 'r', promptEstimate: 0 },
    upstream: await callUpstream({ url: upstream.base, headers: {}, body: '{}', timeouts: TIMEOUTS, abort }),
    answer: PROTOCOLS.chat.editStream(VIEW),
    ...{ cut: abort, conceal: failure => failure, endingOf: () => undefined },
  })
  return { abort, settlement, reader: (await stream.open()).getReader() }
}

/** A call whose time ends while it waits for money for what it is about to say. */
async function overWhileItWaits() {
  const [role = '', hello = '', more = ''] = framesWith('chat', ['Hello.', 'x'.repeat(8 * STREAM_WINDOW_TOKENS)])
  const { promise: mayGoOn, resolve: goOn } = Promise.withResolvers<void>()
  const { abort, settlement, reader } = await open([role, hello, mayGoOn, more])
  let said = ''
  while (!said.includes('Hello.')) said += new TextDecoder().decode((await reader.read()).value)
  slow.stop()
  goOn()
  const last = reader.read()
  while (slow.waiting === 0) await Bun.sleep(5)
  while (!abort.isAborted) await Bun.sleep(5)
  slow.goOn()
  return { last: new TextDecoder().decode((await last).value), ended: await settlement.ended }
}

for (const isRefused of [false, true]) {
  const money = isRefused ? 'and there is none left' : 'which is there'
  test(`a call whose time is over while it waits for money, ${money}, is settled although nobody reads on`, async () => {
    const rest = nanos(WINDOW * 8n)
    if (isRefused)
      await ledger.hold({ requestId: 'other', accountId: 'acc', keyId, call: CALL, most: rest, least: rest, at: 0 })
    const { last, ended } = await overWhileItWaits()
    expect(last).not.toContain('xxx')
    expect(ended?.failure).toEqual({ kind: 'upstream-timeout', phase: 'total' })
    expect((await store.directory.account('acc'))?.held).toBe(isRefused ? rest : nanos(0n))
  })
}
