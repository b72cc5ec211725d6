import { describe, expect, test } from 'bun:test'
import type { Caller } from '../../src/core/directory.ts'
import type { KeyUse, KeyUses } from '../../src/core/key-uses.ts'
import { KeyLimits } from '../../src/gateway/key-limits.ts'

const MINUTE_MS = 60_000

const callerWith = (limits: Partial<Caller>): Caller => ({
  ...{ keyId: 'key', accountId: 'account', group: 'default', models: undefined, isAdmins: false, keepDays: undefined },
  ...{ maxConcurrent: undefined, maxPerMinute: undefined },
  ...limits,
})

function startCounting() {
  const time = { now: 7_654_321.5 }
  const limits = new KeyLimits(() => time.now)
  const enter = (fields: Partial<Caller>) => limits.enter(callerWith(fields))
  return {
    time,
    limits,
    enter,
    /** Enters so many times at one moment and stays; how many were let in. */
    crowd: (fields: Partial<Caller>, size: number): number => {
      let letIn = 0
      for (let tried = 0; tried < size; tried++) if (refusalOf(() => enter(fields)) === undefined) letIn++
      return letIn
    },
    refusal: (fields: Partial<Caller>) => refusalOf(() => enter(fields)),
  }
}

function refusalOf(enter: () => unknown): unknown {
  try {
    enter()
    return undefined
  } catch (error) {
    return (error as { failure: unknown }).failure
  }
}

const tooManyAtOnce = { kind: 'rate-limited', limit: 'concurrent', retryAfterSeconds: 1 }
const tooManyInAMinute = (retryAfterSeconds: number) => ({
  kind: 'rate-limited',
  limit: 'per-minute',
  retryAfterSeconds,
})

describe('requests at once', () => {
  test('are let in up to the limit, and again for each that leaves', () => {
    const { enter, refusal } = startCounting()
    const two = { maxConcurrent: 2 }
    const leave = enter(two)
    enter(two)
    expect(refusal(two)).toEqual(tooManyAtOnce)
    leave()
    expect([refusal(two), refusal(two)]).toEqual([undefined, tooManyAtOnce])
  })

  test('leave once, however often it is said', () => {
    const { enter, refusal } = startCounting()
    const two = { maxConcurrent: 2 }
    const leave = enter(two)
    enter(two)
    leave()
    leave()
    expect([refusal(two), refusal(two)]).toEqual([undefined, tooManyAtOnce])
  })

  test('are under way for as long as it takes', () => {
    const { time, enter, refusal } = startCounting()
    const one = { maxConcurrent: 1 }
    const leave = enter(one)
    time.now += 100 * MINUTE_MS
    expect(refusal(one)).toEqual(tooManyAtOnce)
    leave()
    expect(refusal(one)).toBeUndefined()
  })

  test('of one key are no others’', () => {
    const { refusal } = startCounting()
    const keys = ['a', 'b'].map(keyId => ({ keyId, maxConcurrent: 1 }))
    expect(keys.map(refusal)).toEqual([undefined, undefined])
    expect(keys.map(refusal)).toEqual([tooManyAtOnce, tooManyAtOnce])
  })
})

describe('requests in a minute', () => {
  test('are let in all at once up to the limit, and then when the minute of the first is over', () => {
    const { time, crowd, refusal } = startCounting()
    const limit = { maxPerMinute: 60 }
    expect(crowd(limit, 100)).toBe(60)
    expect(refusal(limit)).toEqual(tooManyInAMinute(60))
    time.now += 59_999
    expect(refusal(limit)).toEqual(tooManyInAMinute(1))
    time.now += 1
    expect(crowd(limit, 100)).toBe(60)
  })

  test('are told how many whole seconds to wait, and are let in then', () => {
    const { time, crowd, enter, refusal } = startCounting()
    const limit = { maxPerMinute: 3 }
    enter(limit)
    time.now += 10_250
    expect(crowd(limit, 5)).toBe(2)
    expect(refusal(limit)).toEqual(tooManyInAMinute(50))
    time.now += 50_000
    expect([refusal(limit), refusal(limit)]).toEqual([undefined, tooManyInAMinute(10)])
    time.now += 10_000
    expect(crowd(limit, 5)).toBe(2)
  })

  test('are let in at an even pace for ever', () => {
    const { time, refusal } = startCounting()
    for (let second = 0; second < 600; second++) {
      expect(refusal({ maxPerMinute: 60 })).toBeUndefined()
      time.now += 1_000
    }
  })

  test('that are refused do not count', () => {
    const { time, crowd } = startCounting()
    const limit = { maxPerMinute: 5 }
    expect(crowd(limit, 5)).toBe(5)
    for (let second = 0; second < 59; second++) {
      time.now += 1_000
      expect(crowd(limit, 10)).toBe(0)
    }
    time.now += 1_000
    expect(crowd(limit, 10)).toBe(5)
  })

  // With pauses that a seed determines, so that a failure can be repeated.
  test('are never more than the limit in any minute, and nearly as many for those who always try', () => {
    for (const limit of [1, 2, 7, 60, 500]) {
      const { time, refusal } = startCounting()
      const random = randomFrom(limit)
      const letIn: number[] = []
      const [begin, pauseMs] = [time.now, (2 * MINUTE_MS) / (limit * 10)]
      while (time.now < begin + 10 * MINUTE_MS) {
        if (refusal({ maxPerMinute: limit }) === undefined) letIn.push(time.now)
        time.now += Math.floor(random() * pauseMs)
      }
      const overfull = letIn.filter((at, place) => at - (letIn[place - limit] ?? Number.NEGATIVE_INFINITY) < MINUTE_MS)
      expect({ limit, overfull }).toEqual({ limit, overfull: [] })
      expect(letIn.length).toBeGreaterThanOrEqual(limit * 9)
    }
  })

  test('that one limit refuses do not count for the other, and the longer wait is told', () => {
    const { time, enter, refusal } = startCounting()
    const both = { maxConcurrent: 1, maxPerMinute: 2 }
    const leave = enter(both)
    expect([refusal(both), refusal(both)]).toEqual([tooManyAtOnce, tooManyAtOnce])
    leave()
    time.now += 5_000
    expect(refusal(both)).toBeUndefined()
    expect(refusal(both)).toEqual(tooManyInAMinute(55))
  })
})

describe('limits that change', () => {
  test('hold from the next request on, with what came before them', () => {
    const { time, crowd, refusal } = startCounting()
    expect(crowd({ maxPerMinute: 10 }, 10)).toBe(10)
    time.now += 1_000
    expect(refusal({ maxPerMinute: 10 })).toEqual(tooManyInAMinute(59))
    expect(crowd({ maxPerMinute: 12 }, 10)).toBe(2)
    expect(refusal({ maxPerMinute: 2 })).toEqual(tooManyInAMinute(60))
    expect(refusal({ maxPerMinute: 3 })).toEqual(tooManyInAMinute(59))
    expect(refusal({ maxConcurrent: 12 })).toEqual(tooManyAtOnce)
    expect(refusal({ maxConcurrent: 13 })).toBeUndefined()
    expect(refusal({})).toBeUndefined()
  })
})

describe('what is remembered', () => {
  test('is nothing of keys without limits', () => {
    const { limits, enter } = startCounting()
    for (let key = 0; key < 100; key++) enter({ keyId: `key ${key}` })()
    expect(limits.size).toBe(0)
  })

  test('is nothing of keys that have been idle for a while, but requests that go on', () => {
    const { time, limits, enter, refusal } = startCounting()
    for (let key = 0; key < 100; key++) enter({ keyId: `key ${key}`, maxPerMinute: 5 })()
    enter({ keyId: 'busy', maxConcurrent: 1 })
    expect(limits.size).toBe(101)
    time.now += 2 * MINUTE_MS
    enter({ keyId: 'last', maxPerMinute: 1 })
    expect(limits.size).toBe(2)
    expect(refusal({ keyId: 'busy', maxConcurrent: 1 })).toEqual(tooManyAtOnce)
  })
})

describe('what other replicas have said', () => {
  /** Others of whom the test decides what they say, and who hear what is said to them. */
  function startAmong(said: readonly Omit<KeyUse, 'keyId'>[]) {
    const time = { now: 7_654_321.5 }
    const heard: KeyUse[] = []
    const remembered = new Set<string>()
    const uses: KeyUses = {
      exchange: async (changed, keyIds) => {
        const others = keyIds.flatMap(keyId => said.map(use => ({ keyId, ...use })))
        const known = new Set(remembered)
        heard.push(...changed)
        for (const { keyId } of changed) remembered.add(keyId)
        return { others, remembered: known }
      },
    }
    const limits = new KeyLimits(() => time.now, uses)
    const enter = async (fields: Partial<Caller>) => {
      await limits.ask(callerWith(fields))
      return limits.enter(callerWith(fields))
    }
    const refusal = async (fields: Partial<Caller>) => {
      await limits.ask(callerWith(fields))
      return refusalOf(() => limits.enter(callerWith(fields)))
    }
    return { time, heard, remembered, limits, enter, refusal, [Symbol.dispose]: () => limits.stop() }
  }

  test('counts for requests at once, from the first one on', async () => {
    using among = startAmong([
      { underWay: 2, recent: [] },
      { underWay: 1, recent: [] },
    ])
    const four = { maxConcurrent: 4 }
    expect([await among.refusal(four), await among.refusal(four)]).toEqual([undefined, tooManyAtOnce])
  })

  test('counts for the minute, and the wait is until the oldest of all has left it', async () => {
    using among = startAmong([{ underWay: 0, recent: [{ ageMs: 50_000, count: 1 }] }])
    const three = { maxPerMinute: 3 }
    expect([await among.refusal(three), await among.refusal(three)]).toEqual([undefined, undefined])
    expect(await among.refusal(three)).toEqual(tooManyInAMinute(10))
    expect(await among.refusal({ maxPerMinute: 2 })).toEqual(tooManyInAMinute(60))
  })

  test('is asked for when it is not fresh, and not otherwise', async () => {
    using among = startAmong([])
    const caller = callerWith({ maxConcurrent: 1 })
    expect(among.limits.ask(callerWith({}))).toBeUndefined()
    const asked = among.limits.ask(caller)
    expect(asked).toBeDefined()
    await asked
    expect(among.limits.ask(caller)).toBeUndefined()
    among.time.now += 1_000
    expect(among.limits.ask(caller)).toBeDefined()
  })

  test('is no news: what one does itself is said once', async () => {
    using among = startAmong([])
    const leave = await among.enter({ maxConcurrent: 5 })
    const told = () => among.heard.map(({ underWay, recent }) => [underWay, recent.map(({ count }) => count)])
    const tell = async () => {
      among.time.now += 1_000
      await among.limits.ask(callerWith({ maxConcurrent: 5 }))
    }
    await tell()
    await tell()
    expect(told()).toEqual([[1, [1]]])
    leave()
    await tell()
    expect(told()).toEqual([
      [1, [1]],
      [0, [1]],
    ])
  })

  test('and is lost is said again', async () => {
    using among = startAmong([])
    await among.enter({ maxConcurrent: 5 })
    const tell = async () => {
      among.time.now += 1_000
      await among.limits.ask(callerWith({ maxConcurrent: 5 }))
    }
    await tell()
    among.remembered.clear()
    await tell()
    await tell()
    expect(among.heard.map(({ underWay }) => underWay)).toEqual([1, 1])
  })

  test('is done without where it cannot be had', async () => {
    const away: KeyUses = { exchange: () => Promise.reject(new Error('away')) }
    const limits = new KeyLimits(() => 1, away)
    const one = callerWith({ maxConcurrent: 1 })
    await limits.ask(one)
    limits.enter(one)
    await limits.ask(one)
    expect(refusalOf(() => limits.enter(one))).toEqual(tooManyAtOnce)
    limits.stop()
  })
})

function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}
