import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { newKey } from '../../src/core/key.ts'
import type { LedgerOperation, LedgerOutcome, LedgerStore } from '../../src/core/ledger.ts'
import { type Nanos, nanos, pricePerMillion } from '../../src/core/money.ts'
import { cost } from '../../src/core/price.ts'
import { Seen } from '../../src/core/seen.ts'
import { type Store, StoreUnavailable } from '../../src/core/store.ts'
import { NO_USAGE } from '../../src/core/usage.ts'
import { Meter } from '../../src/gateway/meter.ts'
import { Ledger } from '../../src/ledger/ledger.ts'
import type { Counted } from '../../src/metering/count.ts'
import { openSqlite } from '../../src/store/sqlite/open.ts'
import { Random } from '../ledger/property/random.ts'
import { newFolder } from '../support/duet.ts'

/** A token in is a thousand billionths, a token out four thousand. */
const PRICE = {
  input: pricePerMillion(1),
  output: pricePerMillion(4),
  cacheRead: pricePerMillion(1),
  cacheWrite: pricePerMillion(1),
}
const WINDOW = nanos(100n * 1_000n + 4_096n * 4_000n)

let store: Store
let isOpen: boolean
let ledger: Ledger

/** A call that holds its first window of an account with money for two and a half. */
beforeEach(async () => {
  store = openSqlite({ path: join(newFolder(), 'duet.db'), durability: 'process' })
  isOpen = true
  ledger = new Ledger(store.ledger, { owner: 'owner', clock: () => 0 })
  const { id: accountId } = (await store.directory.createAccount({
    id: 'acc',
    name: 'acc',
    group: 'g',
    createdAt: 0,
  })) ?? {
    id: '',
  }
  const { id: keyId } = await store.directory.createKey(newKey('secret', { accountId, name: 'key', createdAt: 0 }))
  const amount = nanos((WINDOW * 5n) / 2n)
  await ledger.deposit({ kind: 'topup', accountId, amount, source: 'x', note: undefined, at: 0 })
  const call = {
    model: 'm',
    channel: 'c',
    protocol: 'chat',
    upstreamProtocol: 'chat',
    stream: true,
    priceId: 1,
  } as const
  await ledger.hold({ requestId: 'r', accountId, keyId, call, most: WINDOW, least: WINDOW, at: 0 })
})

afterEach(() => {
  if (isOpen) store.close()
})

const meterOf = (limitTokens: number, ceiling?: Nanos) =>
  new Meter({ requestId: 'r', price: PRICE, promptEstimate: 100, held: WINDOW, limitTokens, ceiling }, ledger)

/** What a prompt of a hundred tokens and so many of output cost. */
const worth = (output: number): Nanos => nanos(100_000n + BigInt(output) * 4_000n)

/** A ledger's store that is away when it is told so. */
class AwayStore implements LedgerStore {
  isAway = false
  private readonly inner: LedgerStore

  constructor(inner: LedgerStore) {
    this.inner = inner
  }

  async commit(batch: readonly LedgerOperation[]): Promise<readonly LedgerOutcome[]> {
    if (this.isAway) throw new StoreUnavailable('away')
    return this.inner.commit(batch)
  }
}

/** An answer of which this many tokens were relayed. */
function relayed(tokens: number): Seen {
  const seen = new Seen()
  seen.text('x'.repeat(tokens * 4))
  return seen
}

/** An answer that has thought this much, and said nothing yet. */
function thought(tokens: number): Seen {
  const seen = new Seen()
  seen.thinking('x'.repeat(tokens * 4))
  return seen
}

const reported = (input: number, output: number): Counted => ({
  usage: { input, cacheRead: 0, cacheWrite: 0, output, reasoning: 0 },
  source: 'upstream',
})

const held = async () => (await store.directory.account('acc'))?.held

describe('a meter', () => {
  test('asks for nothing while more than half of the window is left', async () => {
    expect(meterOf(50_000).covers(relayed(2_048))).toBe(true)
    await ledger.drain()
    expect(await held()).toBe(WINDOW)
  })

  test('asks once for the next window, however often it is looked at', async () => {
    const meter = meterOf(50_000)
    for (let tokens = 2_049; tokens <= 4_096; tokens += 100) expect(meter.covers(relayed(tokens))).toBe(true)
    await ledger.drain()
    expect(await held()).toBe(nanos(WINDOW + 4_096n * 4_000n))
  })

  test('goes by what the upstream says it wrote, where that is more than the text', async () => {
    const meter = meterOf(50_000)
    const seen = relayed(10)
    seen.usage = { input: 100, cacheRead: 0, cacheWrite: 0, output: 4_097, reasoning: 4_000 }
    expect(meter.covers(seen)).toBe(false)
    expect(await meter.extend(seen)).toBe(true)
  })

  test('goes by the prompt that the upstream counted, where that is longer than we thought', () => {
    const meter = meterOf(50_000)
    const seen = relayed(4_000)
    expect(meter.covers(seen)).toBe(true)
    seen.usage = { input: 1_000, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 }
    expect(meter.covers(seen)).toBe(false)
  })

  test('takes as many windows as it needs at once', async () => {
    expect(await meterOf(50_000).extend(relayed(10_000))).toBe(true)
  })

  test('takes what is left if that is less than a window, then ends', async () => {
    const meter = meterOf(50_000)
    const all = Number((((WINDOW * 5n) / 2n - 100_000n) / 4_000n) as bigint)
    expect(await meter.extend(relayed(8_192))).toBe(true)
    expect(await meter.extend(relayed(all))).toBe(true)
    expect(await meter.extend(relayed(all + 1))).toBe(false)
    expect(await held()).toBe(nanos((WINDOW * 5n) / 2n))
    const counted = { usage: { input: 100, cacheRead: 0, cacheWrite: 0, output: all + 99, reasoning: 0 } }
    expect(meter.withinHold({ ...counted, source: 'counted' }).usage.output).toBe(all)
  })

  test('leaves a stream whose whole limit is held to its upstream, until our count is twice what is held', () => {
    const meter = meterOf(4_096)
    expect(meter.covers(relayed(8_000))).toBe(true)
    expect(meter.covers(relayed(8_400))).toBe(false)
  })

  test('ends no stream because the ledger is away', async () => {
    const meter = meterOf(50_000)
    store.close()
    isOpen = false
    for (const tokens of [5_000, 9_000, 13_000]) expect(await meter.extend(relayed(tokens))).toBe(true)
  })

  test('lends a stream four windows while the ledger is away, and makes it wait for more until that is back', async () => {
    const away = new AwayStore(store.ledger)
    ledger = new Ledger(away, { owner: 'owner', clock: () => 0 })
    const meter = meterOf(50_000)
    away.isAway = true
    expect(await meter.extend(relayed(4_096 * 5))).toBe(true)
    const more = meter.extend(relayed(4_096 * 5 + 1))
    expect(await Promise.race([more, Bun.sleep(100).then(() => 'waits')])).toBe('waits')
    away.isAway = false
    // There is money for two windows and a half.
    expect(await more).toBe(false)
    expect(await held()).toBe(nanos((WINDOW * 5n) / 2n))
    const counted: Counted = { ...reported(100, 4_096 * 5 + 1), source: 'counted' }
    expect(meter.withinHold(counted).usage.output).toBe(4_096 * 5)
  })

  test('holds what it has lent as soon as the ledger is back, and lends anew when it is away again', async () => {
    const away = new AwayStore(store.ledger)
    ledger = new Ledger(away, { owner: 'owner', clock: () => 0 })
    const meter = meterOf(50_000)
    away.isAway = true
    expect(await meter.extend(relayed(5_000))).toBe(true)
    expect(await held()).toBe(WINDOW)
    away.isAway = false
    while (!ledger.isAvailable) await Bun.sleep(1)
    expect(meter.covers(relayed(7_000))).toBe(true)
    await ledger.drain()
    expect(await held()).toBe(nanos((WINDOW * 5n) / 2n))
    away.isAway = true
    expect(await meter.extend(relayed(4_096 * 6))).toBe(true)
  })

  test('lends in the same way to a stream whose hold was released because its process was thought to be dead', async () => {
    expect(await new Ledger(store.ledger, { owner: 'other', clock: () => 0 }).recover()).toBe(1)
    const meter = meterOf(50_000)
    expect(await meter.extend(relayed(4_096 * 5))).toBe(true)
    expect(await held()).toBe(nanos(0n))
  })

  test('does not trust reasoning: the limit that the upstream was told says nothing about it', async () => {
    const meter = meterOf(4_096)
    expect(meter.covers(thought(4_096))).toBe(true)
    expect(meter.covers(thought(4_097))).toBe(false)
    expect(await meter.extend(thought(4_097))).toBe(true)
    expect(await held()).toBe(worth(4_097 + 256))
  })

  test('does not trust an upstream that has counted to more than its limit itself', () => {
    const seen = relayed(10)
    seen.usage = { input: 100, cacheRead: 0, cacheWrite: 0, output: 4_097, reasoning: 0 }
    expect(meterOf(4_096).covers(seen)).toBe(false)
  })

  test('keeps a count of our own within what is held, and leaves that of an upstream as it is', () => {
    const meter = meterOf(4_096)
    expect(meter.confine({ ...reported(100, 5_000), source: 'counted' }).usage.output).toBe(4_096)
    expect(meter.confine(reported(100, 5_000))).toEqual(reported(100, 5_000))
  })
})

describe('a meter with a ceiling', () => {
  test('holds up to the ceiling and no further, then ends there', async () => {
    const meter = meterOf(50_000, worth(5_000))
    expect(await meter.extend(relayed(4_900))).toBe(true)
    expect(await held()).toBe(worth(5_000))
    expect(meter.covers(relayed(5_000))).toBe(true)
    expect(await meter.extend(relayed(5_001))).toBe(false)
    expect(await held()).toBe(worth(5_000))
    expect(meter.shortage).toBe('ceiling')
    expect(meter.withinHold({ ...reported(100, 5_001), source: 'counted' }).usage.output).toBe(5_000)
  })

  test('is short of money where that is used up before the ceiling is reached', async () => {
    const meter = meterOf(50_000, worth(40_000))
    expect(await meter.extend(relayed(30_000))).toBe(false)
    expect(meter.shortage).toBe('funds')
  })

  test('trusts its upstream as far as the ceiling pays for what we count', async () => {
    const meter = meterOf(4_096, worth(6_000))
    expect(meter.covers(relayed(6_000))).toBe(true)
    expect(await meter.extend(relayed(6_001))).toBe(false)
    expect(meter.shortage).toBe('ceiling')
  })

  test('counts reasoning and speech together', async () => {
    const seen = thought(3_000)
    seen.text('x'.repeat(4 * 1_096))
    const meter = meterOf(50_000, WINDOW)
    expect(meter.covers(seen)).toBe(true)
    seen.text('x')
    expect(await meter.extend(seen)).toBe(false)
  })

  test('ends where the prompt alone is worth more, once the upstream has counted it', async () => {
    const meter = meterOf(50_000, WINDOW)
    const seen = relayed(0)
    seen.usage = { input: 20_000, cacheRead: 0, cacheWrite: 0, output: 1, reasoning: 0 }
    expect(meter.covers(seen)).toBe(false)
    expect(await meter.extend(seen)).toBe(false)
    const { usage } = meter.withinHold({ ...reported(20_000, 1), source: 'counted' })
    expect(usage).toMatchObject({ input: 16_484, output: 0 })
    expect(cost(usage, PRICE)).toBe(WINDOW)
  })

  test('holds even against what the upstream says at last, and the record says so', () => {
    const meter = meterOf(50_000, WINDOW)
    const { counted, ending } = meter.conclude(reported(200, 4_071), 'stop')
    expect(counted).toEqual(reported(200, 4_071))
    expect(ending).toBe('stop')
    const above = meter.conclude(reported(200, 4_072), 'stop')
    expect(above.counted).toEqual({ ...reported(200, 4_071), source: 'counted' })
    expect(above.ending).toBe('ceiling')
  })

  test('is held to even while the ledger is away', async () => {
    const meter = meterOf(50_000, worth(5_000))
    store.close()
    isOpen = false
    expect(await meter.extend(relayed(5_000))).toBe(true)
    expect(await meter.extend(relayed(5_001))).toBe(false)
  })
})

test('what is covered does not depend on how often, or of whom, it was asked before', () => {
  for (let round = 0; round < 50; round++) {
    const random = new Random(round)
    const limitTokens = random.pick([100, 2_000, 4_096])
    const ceiling = random.chance(0.3) ? WINDOW : undefined
    const asked = meterOf(limitTokens, ceiling)
    const seen = new Seen()
    let isCovered = true
    for (let piece = 0; piece < 5_000 && isCovered; piece++) {
      const text = random.pick(['x', 'word', '汉字', '😀', 'é'.repeat(7), 'x'.repeat(random.between(1, 300))])
      if (random.chance(0.1)) seen.thinking(text)
      else seen.text(text)
      if (random.chance(0.001))
        seen.usage = { ...NO_USAGE, input: random.between(1, 100), output: random.between(1, 900) }
      isCovered = asked.covers(seen)
      expect(isCovered).toBe(meterOf(limitTokens, ceiling).covers(seen))
    }
  }
})
