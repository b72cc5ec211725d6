import { describe, expect, test } from 'bun:test'
import { Histogram } from '../../src/telemetry/histogram.ts'
import { mergeFamilies } from '../../src/telemetry/merge.ts'
import { type Family, render } from '../../src/telemetry/prometheus.ts'
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

  describe('of several processes are those of one', () => {
    const merged = (...processes: readonly Family[][]) => parseMetrics(render(mergeFamilies(processes)))

    test('what they count adds up, series by series, and one that only some have is there', () => {
      const counting = (counted: Readonly<Record<string, number>>): Family => ({
        ...{ name: 'asked_total', help: 'Asked.', type: 'counter' },
        samples: Object.entries(counted).map(([code, value]) => ({ labels: { code }, value })),
      })
      const scraped = merged([counting({ ok: 2 })], [counting({ ok: 3, gone: 1 })], [])
      expect(scraped.value('asked_total', { code: 'ok' })).toBe(5)
      expect(scraped.value('asked_total', { code: 'gone' })).toBe(1)
    })

    test('durations add up in every bucket', () => {
      const taking = (ms: number): Family => {
        const histogram = new Histogram()
        histogram.observe(ms)
        return { name: 'took', help: 'Took.', type: 'histogram', samples: histogram.samples({}) }
      }
      const scraped = merged([taking(50)], [taking(700)])
      expect([scraped.value('took_bucket', { le: '0.1' }), scraped.value('took_bucket', { le: '1' })]).toEqual([1, 2])
      expect([scraped.value('took_sum'), scraped.value('took_count')]).toEqual([0.75, 2])
    })

    test('what is true of all of them only if it is true of each has the least value', () => {
      const available = (value: number): Family => ({
        ...{ name: 'available', help: 'Available.', type: 'gauge', merge: 'min' },
        samples: [{ value }],
      })
      expect(merged([available(1)], [available(0)], [available(1)]).value('available')).toBe(0)
      expect(merged([available(1)], [available(1)]).value('available')).toBe(1)
    })
  })
})
