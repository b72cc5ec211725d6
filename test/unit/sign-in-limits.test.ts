import { describe, expect, test } from 'bun:test'
import { MemoryCounts } from '../../src/admin/attempt-counts.ts'
import { networkOf, SignInLimits } from '../../src/admin/sign-in-limits.ts'

const QUARTER_HOUR_MS = 15 * 60_000

function startCounting() {
  const time = { now: 1_000_000 }
  const limits = new SignInLimits(() => new MemoryCounts(() => time.now))
  return {
    time,
    fail: async (name: string, address: string, times = 1) => {
      for (let count = 0; count < times; count++) await limits.begin(name, address)
    },
    succeed: async (name: string, address: string) => (await limits.begin(name, address)).succeeded(),
    takeBack: async (name: string, address: string) => (await limits.begin(name, address)).takenBack(),
    /** Without leaving a trace. */
    isLetIn: async (name: string, address: string): Promise<boolean> => {
      try {
        const attempt = await limits.begin(name, address)
        await attempt.takenBack()
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
  test('for a name is refused there, and told for how long', async () => {
    const { time, fail, isLetIn, begin } = startCounting()
    await fail('ada', HERE, 9)
    expect(await isLetIn('ada', HERE)).toBe(true)
    await fail('ada', HERE)
    time.now += 60_000
    await expect(begin('ada', HERE)).rejects.toThrow(
      expect.objectContaining({ status: 429, code: 'too_many_attempts', retryAfter: 14 * 60 }),
    )
  })

  test('is refused however the name is written', async () => {
    const { fail, isLetIn } = startCounting()
    await fail('ada', HERE, 5)
    await fail('ADA', HERE, 5)
    expect(await isLetIn('Ada', HERE)).toBe(false)
  })

  test('does not shut out the same name elsewhere, nor other names here', async () => {
    const { fail, isLetIn } = startCounting()
    await fail('ada', HERE, 10)
    expect(await Promise.all([isLetIn('ada', HERE), isLetIn('ada', address(1)), isLetIn('grace', HERE)])).toEqual([
      false,
      true,
      true,
    ])
  })

  test('does not shut them out by going on either: what is refused is not counted', async () => {
    const { fail, isLetIn, begin } = startCounting()
    await fail('ada', HERE, 10)
    for (let count = 0; count < 500; count++) await expect(begin('ada', HERE)).rejects.toThrow()
    expect(await Promise.all([isLetIn('ada', address(1)), isLetIn('grace', HERE)])).toEqual([true, true])
  })

  test('may try again after a quarter of an hour', async () => {
    const { time, fail, isLetIn } = startCounting()
    await fail('ada', HERE, 10)
    time.now += QUARTER_HOUR_MS - 1
    expect(await isLetIn('ada', HERE)).toBe(false)
    time.now += 1
    expect(await isLetIn('ada', HERE)).toBe(true)
  })

  test('with addresses of one network is one', async () => {
    const { fail, isLetIn } = startCounting()
    for (let host = 1; host <= 10; host++) await fail('ada', `2001:db8:1:2::${host}`)
    expect(await Promise.all([isLetIn('ada', '2001:db8:1:2:3:4:5:6'), isLetIn('ada', '2001:db8:1:3::1')])).toEqual([
      false,
      true,
    ])
  })
})

describe('two hundred failures', () => {
  test('for a name from many networks shut it out everywhere, and no other name', async () => {
    const { fail, isLetIn } = startCounting()
    for (let network = 1; network <= 19; network++) await fail('ada', address(network), 10)
    await fail('ada', address(20), 9)
    expect(await isLetIn('ada', HERE)).toBe(true)
    await fail('ada', address(20))
    expect(await Promise.all([isLetIn('ada', HERE), isLetIn('grace', HERE)])).toEqual([false, true])
  })

  test('from a network for many names shut it out, and no other network', async () => {
    const { fail, isLetIn } = startCounting()
    for (let name = 1; name <= 19; name++) await fail(`name ${name}`, HERE, 10)
    await fail('name 20', HERE, 9)
    expect(await isLetIn('ada', HERE)).toBe(true)
    await fail('name 20', HERE)
    expect(await Promise.all([isLetIn('ada', HERE), isLetIn('ada', address(1))])).toEqual([false, true])
  })
})

describe('a success', () => {
  test('forgives the failures for this name from this network', async () => {
    const { fail, succeed, isLetIn } = startCounting()
    await fail('ada', HERE, 9)
    await succeed('ada', HERE)
    await fail('ada', HERE, 9)
    expect(await isLetIn('ada', HERE)).toBe(true)
    await fail('ada', HERE)
    expect(await isLetIn('ada', HERE)).toBe(false)
  })

  test('forgives nothing of the same name elsewhere, or of others here', async () => {
    const { fail, succeed, isLetIn } = startCounting()
    await fail('ada', address(1), 10)
    await fail('grace', HERE, 10)
    await succeed('ada', HERE)
    expect(await Promise.all([isLetIn('ada', address(1)), isLetIn('grace', HERE)])).toEqual([false, false])
  })

  // Whoever has a password of their own must not buy guesses at those of others with it.
  test('forgives nothing of the wide limits', async () => {
    const { fail, succeed, isLetIn } = startCounting()
    for (let name = 1; name <= 20; name++) await fail(`name ${name}`, HERE, 9)
    for (let name = 1; name <= 20; name++) await succeed(`name ${name}`, HERE)
    for (let name = 21; name <= 22; name++) await fail(`name ${name}`, HERE, 10)
    expect(await Promise.all([isLetIn('ada', HERE), isLetIn('ada', address(1))])).toEqual([false, true])
  })

  test('is no failure, however often', async () => {
    const { succeed, isLetIn } = startCounting()
    for (let count = 0; count < 300; count++) await succeed('ada', HERE)
    expect(await Promise.all([isLetIn('ada', HERE), isLetIn('ada', address(1)), isLetIn('grace', HERE)])).toEqual([
      true,
      true,
      true,
    ])
  })
})

test('an attempt that is taken back was none', async () => {
  const { fail, takeBack, isLetIn } = startCounting()
  await fail('ada', HERE, 9)
  for (let count = 0; count < 300; count++) await takeBack('ada', HERE)
  expect(await isLetIn('ada', HERE)).toBe(true)
  await fail('ada', HERE)
  expect(await Promise.all([isLetIn('ada', HERE), isLetIn('ada', address(1)), isLetIn('grace', HERE)])).toEqual([
    false,
    true,
    true,
  ])
})

test('attempts under way at once count before the first has failed', async () => {
  const { begin } = startCounting()
  const underWay = Array.from({ length: 10 }, () => begin('ada', HERE))
  await expect(begin('ada', HERE)).rejects.toThrow()
  await (await underWay[0])?.takenBack()
  await begin('ada', HERE)
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
