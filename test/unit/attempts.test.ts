import { describe, expect, test } from 'bun:test'
import { Attempts } from '../../src/admin/attempts.ts'

function startCounting() {
  const time = { now: 1_000_000 }
  return { time, attempts: new Attempts({ failuresMax: 3, windowMs: 60_000 }, () => time.now) }
}

function fail(attempts: Attempts, who: string, times: number): void {
  for (let count = 0; count < times; count++) {
    attempts.refuseIfTooMany(who)
    attempts.begin(who)
  }
}

describe('failed attempts', () => {
  test('are refused when there were too many, with the time until the next one', () => {
    const { time, attempts } = startCounting()
    fail(attempts, 'ada', 3)
    time.now += 20_000
    expect(() => attempts.refuseIfTooMany('ada')).toThrow(
      expect.objectContaining({ status: 429, code: 'too_many_attempts', retryAfter: 40 }),
    )
  })

  test('of one do not hinder another', () => {
    const { attempts } = startCounting()
    fail(attempts, 'ada', 3)
    expect(() => attempts.refuseIfTooMany('grace')).not.toThrow()
  })

  test('are forgiven after the window, and by a success', () => {
    const { time, attempts } = startCounting()
    fail(attempts, 'ada', 3)
    time.now += 60_000
    fail(attempts, 'ada', 2)
    attempts.succeeded('ada')
    expect(() => fail(attempts, 'ada', 3)).not.toThrow()
    expect(() => attempts.refuseIfTooMany('ada')).toThrow()
  })

  test('count from their beginning: those under way at once are not let through together', () => {
    const { attempts } = startCounting()
    for (let count = 0; count < 3; count++) attempts.begin('ada')
    expect(() => attempts.refuseIfTooMany('ada')).toThrow()
  })

  test('of strangers take a bounded amount of memory', () => {
    const { attempts } = startCounting()
    fail(attempts, 'first', 3)
    for (let name = 0; name < 10_000; name++) attempts.begin(`stranger ${name}`)
    expect(() => attempts.refuseIfTooMany('first')).not.toThrow()
    expect(() => fail(attempts, 'stranger 9999', 3)).toThrow()
  })
})
