import { describe, expect, test } from 'bun:test'
import type { Channel } from '../../src/core/catalog.ts'
import { type BreakerChange, Breakers, type UpstreamFault } from '../../src/routing/breakers.ts'

const SETTINGS = { failures: 3, coolDownMs: 1_000, coolDownMsMax: 4_000 }

const channel = (more: Partial<Channel> = {}): Channel => ({
  ...{ name: 'a', priority: 0, weight: 1, protocol: 'chat', baseUrl: 'http://127.0.0.1', groups: ['default'] },
  ...{ origin: 'file', vendor: undefined, hidesConsole: false, isPaused: false, models: new Map() },
  keys: ['k', 'l'].map(id => ({ id, hint: id, secret: id, isPaused: false })),
  usableKeys: ['k', 'l'].map(id => ({ id, secret: id })),
  timeouts: { connectMs: 1, firstByteMs: 1, idleMs: 1, totalMs: 1 },
  breaker: SETTINGS,
  withheld: [],
  replyHeaders: {},
  ...more,
})

const BROKEN: UpstreamFault = { scope: 'channel', isAuth: false, restMs: undefined, text: 'broken' }
const BUSY: UpstreamFault = { ...BROKEN, scope: 'key', restMs: 7_000 }
const REFUSED: UpstreamFault = { ...BROKEN, scope: 'key', isAuth: true }

/** Breakers with a clock that a test moves. */
function watch(subject = channel()) {
  let now = 0
  const told: BreakerChange[] = []
  const breakers = new Breakers({ clock: () => now, now: () => now, tell: change => told.push(change) })
  const route = (keyId: string) => ({ channel: subject, key: { id: keyId, secret: keyId } })
  return {
    breakers,
    told,
    begin: (keyId = 'k') => breakers.begin(route(keyId)),
    fail(fault: UpstreamFault, times = 1, keyId = 'k') {
      for (let time = 0; time < times; time++) breakers.begin(route(keyId)).failed(fault)
    },
    answer: (keyId = 'k') => breakers.begin(route(keyId)).answered(),
    wait(ms: number) {
      now += ms
    },
    get admits() {
      return breakers.admitsChannel('a')
    },
    admitsKey: (keyId: string) => breakers.admitsKey('a', keyId),
    restMs: (keyId = 'k') => breakers.restMs(route(keyId)),
  }
}

describe('a channel that fails', () => {
  test('is asked until it has failed as often in a row as its settings say', () => {
    const { fail, answer, ...watched } = watch()
    fail(BROKEN, 2)
    answer()
    fail(BROKEN, 2)
    expect(watched.breakers.admitsChannel('a')).toBe(true)
    fail(BROKEN)
    expect(watched.breakers.admitsChannel('a')).toBe(false)
    expect(watched.breakers.of('a')).toEqual({ state: 'open', restsUntil: 1_000, isRefused: false })
  })

  test('is left alone for the cool-down; then one call, and no other, finds out', () => {
    const watched = watch()
    watched.fail(BROKEN, 3)
    watched.wait(999)
    expect(watched.admits).toBe(false)
    watched.wait(1)
    expect([watched.admits, watched.breakers.of('a').state]).toEqual([true, 'half-open'])
    const probe = watched.begin()
    expect(watched.admits).toBe(false)
    probe.answered()
    expect([watched.admits, watched.breakers.of('a').state]).toEqual([true, 'closed'])
    watched.fail(BROKEN, 2)
    expect(watched.admits).toBe(true)
  })

  test('is left alone for twice as long after each probe that fails, up to a limit, and as at first after an answer', () => {
    const watched = watch()
    watched.fail(BROKEN, 3)
    const rests = [2_000, 4_000, 4_000].map(() => {
      watched.wait(watched.restMs())
      watched.fail(BROKEN)
      return watched.restMs()
    })
    expect(rests).toEqual([2_000, 4_000, 4_000])
    watched.wait(4_000)
    watched.answer()
    watched.fail(BROKEN, 3)
    expect(watched.restMs()).toBe(1_000)
  })

  test('is not left alone longer because many calls were under way when it broke', () => {
    const watched = watch()
    const underWay = Array.from({ length: 50 }, () => watched.begin())
    for (const call of underWay) call.failed(BROKEN)
    expect(watched.restMs()).toBe(1_000)
  })

  test('is not taken for healthy because a call from before its rest succeeds', () => {
    const watched = watch()
    const early = watched.begin()
    watched.fail(BROKEN, 3)
    early.answered()
    expect(watched.admits).toBe(false)
  })

  test('waits for the next probe if the one under way ends without a word from it', () => {
    const watched = watch()
    watched.fail(BROKEN, 3)
    watched.wait(1_000)
    const probe = watched.begin()
    expect(watched.admits).toBe(false)
    probe.left()
    expect(watched.admits).toBe(true)
  })

  test('is asked by everyone as soon as it speaks again, and left alone for longer if it cannot finish', () => {
    const watched = watch()
    watched.fail(BROKEN, 3)
    watched.wait(1_000)
    const probe = watched.begin()
    probe.heard()
    expect([watched.admits, watched.breakers.of('a').state]).toEqual([true, 'closed'])
    probe.failed(BROKEN)
    expect([watched.admits, watched.restMs()]).toEqual([false, 2_000])
  })

  test('is left alone if it begins every answer and finishes none', () => {
    const watched = watch()
    for (let time = 0; time < 3; time++) {
      const call = watched.begin()
      call.heard()
      call.failed(BROKEN)
    }
    expect(watched.admits).toBe(false)
  })

  test('may be tried by another one if the probe takes long', () => {
    const watched = watch()
    watched.fail(BROKEN, 3)
    watched.wait(1_000)
    watched.begin()
    watched.wait(999)
    expect(watched.admits).toBe(false)
    watched.wait(1)
    expect(watched.admits).toBe(true)
  })

  test('is left alone for as long as it asks for, at once', () => {
    const watched = watch()
    watched.fail({ ...BROKEN, restMs: 30_000 })
    expect([watched.admits, watched.restMs()]).toEqual([false, 30_000])
  })

  test('is left alone like any other if it always says that it may be asked at once', () => {
    const watched = watch()
    watched.fail({ ...BROKEN, restMs: 0 }, 2)
    expect(watched.admits).toBe(true)
    watched.fail({ ...BROKEN, restMs: 0 })
    expect([watched.admits, watched.restMs()]).toEqual([false, 1_000])
  })

  test('is always asked if its settings say so', () => {
    const watched = watch(channel({ breaker: undefined }))
    watched.fail(BROKEN, 100)
    watched.fail(REFUSED, 100)
    expect([watched.admits, watched.admitsKey('k'), watched.told.length]).toEqual([true, true, 0])
  })
})

describe('a key', () => {
  test('that is refused is taken out at once, and its channel and other keys are not', () => {
    const watched = watch()
    watched.fail(REFUSED)
    expect([watched.admits, watched.admitsKey('k'), watched.admitsKey('l')]).toEqual([true, false, true])
    expect(watched.breakers.ofKey('a', 'k')).toEqual({ state: 'open', restsUntil: 10_000, isRefused: true })
    watched.wait(10_000)
    watched.fail(REFUSED)
    expect(watched.restMs()).toBe(20_000)
    watched.wait(20_000)
    watched.answer()
    expect(watched.breakers.ofKey('a', 'k')).toEqual({ state: 'closed', restsUntil: undefined, isRefused: false })
  })

  test('that asks too often is left alone for as long as the vendor says', () => {
    const watched = watch()
    watched.fail(BUSY)
    expect([watched.admits, watched.admitsKey('k'), watched.restMs('k'), watched.restMs('l')]).toEqual([
      ...[true, false, 7_000, 0],
    ])
    watched.wait(7_000)
    expect(watched.admitsKey('k')).toBe(true)
  })

  test('that asks too often of a vendor who does not say for how long is used until it has failed often', () => {
    const watched = watch()
    watched.fail({ ...BUSY, restMs: undefined }, 2)
    expect(watched.admitsKey('k')).toBe(true)
    watched.fail({ ...BUSY, restMs: undefined })
    expect(watched.admitsKey('k')).toBe(false)
  })

  test('that there is none of leaves the channel as a whole alone', () => {
    const watched = watch(channel({ keys: [], usableKeys: [] }))
    watched.breakers.begin({ channel: channel({ keys: [], usableKeys: [] }), key: undefined }).failed(BUSY)
    expect(watched.admits).toBe(false)
  })
})

describe('operators', () => {
  test('are told when somebody is left alone, refused, and back: once each', () => {
    const watched = watch()
    watched.fail(BROKEN, 3)
    watched.wait(1_000)
    watched.answer()
    watched.answer()
    watched.fail(REFUSED, 3, 'l')
    expect(watched.told.map(({ type, keyId, restMs }) => [type, keyId ?? '', restMs])).toEqual([
      ['left-alone', '', 1_000],
      ['back', '', 0],
      ['refused', 'l', 10_000],
    ])
  })

  test('who have seen to it need not wait', () => {
    const watched = watch()
    watched.fail(REFUSED)
    watched.fail(BROKEN, 3)
    watched.breakers.forget('a', 'k')
    expect([watched.admits, watched.admitsKey('k')]).toEqual([true, true])
  })

  const CHANGES: [what: string, before: Channel, after: Channel[], isForgotten: boolean][] = [
    ['nothing of it', channel(), [channel()], false],
    ['its weight', channel(), [channel({ weight: 9 })], false],
    ['its address', channel(), [channel({ baseUrl: 'http://127.0.0.2' })], true],
    ['that it is paused no longer', channel({ isPaused: true }), [channel()], true],
    ['that it is there', channel(), [], true],
    ['its breaker to none', channel(), [channel({ breaker: undefined })], true],
  ]
  for (const [what, before, after, isForgotten] of CHANGES) {
    test(`who change ${what} make it ${isForgotten ? 'start afresh' : 'no healthier'}`, () => {
      const watched = watch()
      watched.fail(BROKEN, 3)
      watched.fail(REFUSED)
      watched.breakers.follow([before], after)
      expect([watched.admits, watched.admitsKey('k')]).toEqual([isForgotten, isForgotten])
    })
  }

  test('who replace an upstream are not told of what becomes of calls to the old one', () => {
    const watched = watch()
    const old = watched.begin()
    watched.breakers.follow([channel()], [channel({ baseUrl: 'http://127.0.0.2' })])
    old.failed({ ...BROKEN, restMs: 60_000 })
    expect([watched.admits, watched.told.length]).toEqual([true, 0])
  })

  test('who replace a key do not replace its channel', () => {
    const watched = watch()
    watched.fail(BROKEN, 3)
    watched.fail(REFUSED)
    const keys = [{ id: 'l', hint: 'l', secret: 'l', isPaused: false }]
    watched.breakers.follow([channel()], [channel({ keys, usableKeys: keys })])
    expect([watched.admits, watched.admitsKey('k')]).toEqual([false, true])
  })
})
