import { describe, expect, test } from 'bun:test'
import { MemoryCounts } from '../../src/admin/attempt-counts.ts'
import { Attempts } from '../../src/admin/attempts.ts'

function startCounting() {
  const time = { now: 1_000_000 }
  return { time, attempts: new Attempts({ failuresMax: 3, windowMs: 60_000 }, new MemoryCounts(() => time.now)) }
}

async function fail(attempts: Attempts, who: string, times: number): Promise<void> {
  for (let count = 0; count < times; count++) await attempts.begin(who)
}

describe('failed attempts', () => {
  test('are refused when there were too many, with the time until the next one', async () => {
    const { time, attempts } = startCounting()
    await fail(attempts, 'ada', 3)
    time.now += 20_000
    await expect(attempts.begin('ada')).rejects.toThrow(
      expect.objectContaining({ status: 429, code: 'too_many_attempts', retryAfter: 40 }),
    )
  })

  test('of one do not hinder another', async () => {
    const { attempts } = startCounting()
    await fail(attempts, 'ada', 3)
    await attempts.begin('grace')
  })

  test('are forgiven after the window, and by a success', async () => {
    const { time, attempts } = startCounting()
    await fail(attempts, 'ada', 3)
    time.now += 60_000
    await fail(attempts, 'ada', 2)
    await attempts.succeeded('ada')
    await fail(attempts, 'ada', 3)
    await expect(attempts.begin('ada')).rejects.toThrow()
  })

  test('count from their beginning: those under way at once are not let through together', async () => {
    const { attempts } = startCounting()
    const begun = Array.from({ length: 3 }, () => attempts.begin('ada'))
    await expect(attempts.begin('ada')).rejects.toThrow()
    await Promise.all(begun)
  })

  test('of strangers take a bounded amount of memory', async () => {
    const { attempts } = startCounting()
    await fail(attempts, 'first', 3)
    for (let name = 0; name < 10_000; name++) await attempts.begin(`stranger ${name}`)
    await attempts.begin('first')
    await expect(fail(attempts, 'stranger 9999', 3)).rejects.toThrow()
  })
})
