import { describe, expect, test } from 'bun:test'
import { Histogram } from '../../src/telemetry/histogram.ts'
import { render } from '../../src/telemetry/prometheus.ts'
import { parseMetrics } from '../support/prometheus.ts'

describe('metrics', () => {
  test('have labels that say exactly what they were given, whatever it is', () => {
    for (const channel of ['plain', 'a "quote"', 'back\\slash', 'two\nlines', '\\n', 'br{a}ce,="x"', '密钥', '']) {
      const text = render([
        { name: 'some_total', help: 'Some.', type: 'counter', samples: [{ labels: { channel }, value: 2 }] },
      ])
      expect(parseMetrics(text).value('some_total', { channel })).toBe(2)
    }
  })

  test('put a duration into every bucket that it fits into', () => {
    const histogram = new Histogram()
    for (const ms of [0, 100, 101, 9_999, 1_000_000]) histogram.observe(ms)
    const samples = histogram.samples({ channel: 'a' })
    const scraped = parseMetrics(render([{ name: 'took', help: 'Took.', type: 'histogram', samples }]))
    const upTo = (le: string) => scraped.value('took_bucket', { channel: 'a', le })
    expect([upTo('0.1'), upTo('0.25'), upTo('5'), upTo('10'), upTo('300'), upTo('+Inf')]).toEqual([2, 3, 3, 4, 4, 5])
    expect(scraped.value('took_sum', { channel: 'a' })).toBe(1_010.2)
  })
})
