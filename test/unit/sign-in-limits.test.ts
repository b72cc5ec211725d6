import { describe, expect, test } from 'bun:test'
import { networkOf, SignInLimits } from '../../src/admin/sign-in-limits.ts'

const QUARTER_HOUR_MS = 15 * 60_000

function startCounting() {
  const time = { now: 1_000_000 }
  const limits = new SignInLimits(() => time.now)
  return {
    time,
    fail: (name: string, address: string, times = 1) => {
      for (let count = 0; count < times; count++) limits.begin(name, address)
    },
    succeed: (name: string, address: string) => limits.begin(name, address).succeeded(),
    takeBack: (name: string, address: string) => limits.begin(name, address).takenBack(),
    /** Without leaving a trace. */
    isLetIn: (name: string, address: string): boolean => {
      try {
        limits.begin(name, address).takenBack()
        return true
      } catch {
        return false
      }
    },
    begin: (name: string, address: string) => limits.begin(name, address),
  }
}

const HERE = '192.0.2.1'
const address = (number: number): string => `198.51.100.${number}`

describe('whoever was wrong ten times', () => {
  test('for a name is refused there, and told for how long', () => {
    const { time, fail, isLetIn, begin } = startCounting()
    fail('ada', HERE, 9)
    expect(isLetIn('ada', HERE)).toBe(true)
    fail('ada', HERE)
    time.now += 60_000
    expect(() => begin('ada', HERE)).toThrow(
      expect.objectContaining({ status: 429, code: 'too_many_attempts', retryAfter: 14 * 60 }),
    )
  })

  test('is refused however the name is written', () => {
    const { fail, isLetIn } = startCounting()
    fail('ada', HERE, 5)
    fail('ADA', HERE, 5)
    expect(isLetIn('Ada', HERE)).toBe(false)
  })

  test('does not shut out the same name elsewhere, nor other names here', () => {
    const { fail, isLetIn } = startCounting()
    fail('ada', HERE, 10)
    expect([isLetIn('ada', HERE), isLetIn('ada', address(1)), isLetIn('grace', HERE)]).toEqual([false, true, true])
  })

  test('does not shut them out by going on either: what is refused is not counted', () => {
    const { fail, isLetIn, begin } = startCounting()
    fail('ada', HERE, 10)
    for (let count = 0; count < 500; count++) expect(() => begin('ada', HERE)).toThrow()
    expect([isLetIn('ada', address(1)), isLetIn('grace', HERE)]).toEqual([true, true])
  })

  test('may try again after a quarter of an hour', () => {
    const { time, fail, isLetIn } = startCounting()
    fail('ada', HERE, 10)
    time.now += QUARTER_HOUR_MS - 1
    expect(isLetIn('ada', HERE)).toBe(false)
    time.now += 1
    expect(isLetIn('ada', HERE)).toBe(true)
  })

  test('with addresses of one network is one', () => {
    const { fail, isLetIn } = startCounting()
    for (let host = 1; host <= 10; host++) fail('ada', `2001:db8:1:2::${host}`)
    expect([isLetIn('ada', '2001:db8:1:2:3:4:5:6'), isLetIn('ada', '2001:db8:1:3::1')]).toEqual([false, true])
  })
})

describe('two hundred failures', () => {
  test('for a name from many networks shut it out everywhere, and no other name', () => {
    const { fail, isLetIn } = startCounting()
    for (let network = 1; network <= 19; network++) fail('ada', address(network), 10)
    fail('ada', address(20), 9)
    expect(isLetIn('ada', HERE)).toBe(true)
    fail('ada', address(20))
    expect([isLetIn('ada', HERE), isLetIn('grace', HERE)]).toEqual([false, true])
  })

  test('from a network for many names shut it out, and no other network', () => {
    const { fail, isLetIn } = startCounting()
    for (let name = 1; name <= 19; name++) fail(`name ${name}`, HERE, 10)
    fail('name 20', HERE, 9)
    expect(isLetIn('ada', HERE)).toBe(true)
    fail('name 20', HERE)
    expect([isLetIn('ada', HERE), isLetIn('ada', address(1))]).toEqual([false, true])
  })
})

describe('a success', () => {
  test('forgives the failures for this name from this network', () => {
    const { fail, succeed, isLetIn } = startCounting()
    fail('ada', HERE, 9)
    succeed('ada', HERE)
    fail('ada', HERE, 9)
    expect(isLetIn('ada', HERE)).toBe(true)
    fail('ada', HERE)
    expect(isLetIn('ada', HERE)).toBe(false)
  })

  test('forgives nothing of the same name elsewhere, or of others here', () => {
    const { fail, succeed, isLetIn } = startCounting()
    fail('ada', address(1), 10)
    fail('grace', HERE, 10)
    succeed('ada', HERE)
    expect([isLetIn('ada', address(1)), isLetIn('grace', HERE)]).toEqual([false, false])
  })

  // Whoever has a password of their own must not buy guesses at those of others with it.
  test('forgives nothing of the wide limits', () => {
    const { fail, succeed, isLetIn } = startCounting()
    for (let name = 1; name <= 20; name++) fail(`name ${name}`, HERE, 9)
    for (let name = 1; name <= 20; name++) succeed(`name ${name}`, HERE)
    for (let name = 21; name <= 22; name++) fail(`name ${name}`, HERE, 10)
    expect([isLetIn('ada', HERE), isLetIn('ada', address(1))]).toEqual([false, true])
  })

  test('is no failure, however often', () => {
    const { succeed, isLetIn } = startCounting()
    for (let count = 0; count < 300; count++) succeed('ada', HERE)
    expect([isLetIn('ada', HERE), isLetIn('ada', address(1)), isLetIn('grace', HERE)]).toEqual([true, true, true])
  })
})

test('an attempt that is taken back was none', () => {
  const { fail, takeBack, isLetIn } = startCounting()
  fail('ada', HERE, 9)
  for (let count = 0; count < 300; count++) takeBack('ada', HERE)
  expect(isLetIn('ada', HERE)).toBe(true)
  fail('ada', HERE)
  expect([isLetIn('ada', HERE), isLetIn('ada', address(1)), isLetIn('grace', HERE)]).toEqual([false, true, true])
})

test('attempts under way at once count before the first has failed', () => {
  const { begin } = startCounting()
  const underWay = Array.from({ length: 10 }, () => begin('ada', HERE))
  expect(() => begin('ada', HERE)).toThrow()
  underWay[0]?.takenBack()
  expect(() => begin('ada', HERE)).not.toThrow()
})

describe('the network of an address', () => {
  const NETWORKS: readonly [address: string, network: string][] = [
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8:1:2::6', '2001:db8:1:2'],
    ['2001:db8::6', '2001:db8:0:0'],
    ['2001:db8:1::5:6', '2001:db8:1:0'],
    ['2001::4:5:6:7:8', '2001:0:0:4'],
    ['2001:db8:1:2::', '2001:db8:1:2'],
    ['::1', '0:0:0:0'],
    ['::', '0:0:0:0'],
    ['', ''],
  ]
  for (const [address, network] of NETWORKS) {
    test(`${JSON.stringify(address)} is ${JSON.stringify(network)}`, () => expect(networkOf(address)).toBe(network))
  }
})
