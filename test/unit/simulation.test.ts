import { describe, expect, test } from 'bun:test'
import type { Scenario } from '../../bench/simulation/scenario.ts'
import { simulate } from '../../bench/simulation/simulate.ts'

/** Everything free and unlimited: each test says what costs something. */
const FREE: Scenario = {
  costs: {
    ...{
      roundTrip: 0,
      databasePerBatch: 0,
      databaseBeside: 0,
      databasePerOperation: 0,
      databasePerAccount: 0,
      databasePerPoll: 0,
    },
    ...{ replicaPerBatch: 0, replicaPerOperation: 0, flush: 0 },
  },
  replicas: 1,
  lanes: 1,
  isSticky: false,
  databaseCores: 1_000,
  isOneMachine: false,
  load: { perSecond: 1_000 },
  spread: 'even',
  accounts: 10_000,
  gatewayWork: 0,
  upstream: 50_000,
  seconds: 10,
  isDrained: true,
  warmUpSeconds: 1,
  balance: 1_000_000_000,
  deaths: [],
  seed: 1,
}

const USUAL = {
  ...{
    roundTrip: 300,
    databasePerBatch: 400,
    databaseBeside: 100,
    databasePerOperation: 50,
    databasePerAccount: 10,
    databasePerPoll: 50,
  },
  ...{ replicaPerBatch: 100, replicaPerOperation: 10, flush: 1_000 },
}

const percent = (value: number, expected: number) => Math.abs(value / expected - 1) * 100

describe('the simulated ledger keeps the money', () => {
  const SHORT = { ...FREE, costs: USUAL, databaseCores: 2, replicas: 5, seconds: 30, accounts: 20, balance: 100_000 }

  for (const spread of ['one', 'even', 'zipf'] as const) {
    test(`of accounts that run dry, asked as "${spread}"`, () => {
      const { books } = simulate({ ...SHORT, spread })
      expect(books.refused).toBeGreaterThan(0)
      expect(books.balance).toBe(books.deposited - books.charged)
      expect(books.balance).toBeGreaterThanOrEqual(0)
      expect({ held: books.held, open: books.holdsOpen }).toEqual({ held: 0, open: 0 })
      expect(books.settled).toBe(books.admitted)
    })
  }

  test('when replicas die: what they held is released once their lease is over', () => {
    const deaths = [
      { replica: 1, atSeconds: 5 },
      { replica: 3, atSeconds: 12.34 },
    ]
    const { books } = simulate({ ...SHORT, balance: FREE.balance, deaths })
    expect(books.interrupted).toBeGreaterThan(0)
    expect(books.settled + books.interrupted).toBe(books.admitted)
    expect(books.balance).toBe(books.deposited - books.charged)
    expect({ held: books.held, open: books.holdsOpen }).toEqual({ held: 0, open: 0 })
  })

  test('and says the same of the same seed, and not quite the same of another', () => {
    expect(simulate(SHORT)).toEqual(simulate(SHORT))
    expect(simulate({ ...SHORT, seed: 2 })).not.toEqual(simulate(SHORT))
  })
})

describe('the simulated ledger has the limits that arithmetic gives', () => {
  test('callers of one replica go in step: a batch of all of them in each turn', () => {
    const callers = 32
    const { operationsPerBatch, perSecond, p50 } = simulate({
      ...{ ...FREE, costs: { ...USUAL, databasePerPoll: 0 }, spread: 'one', upstream: 0 },
      load: { callersPerReplica: callers },
    })
    const turn = 300 + 400 + 10 + 100 + (50 + 10) * callers + 1_000
    expect(operationsPerBatch).toBeCloseTo(callers, 1)
    expect(percent(perSecond, (callers / 2 / turn) * 1e6)).toBeLessThan(1)
    expect(percent(p50, 2 * turn)).toBeLessThan(1)
  })

  test('one account is served by one batch at a time, however many replicas there are', () => {
    const callers = 8
    const { perSecond, busy } = simulate({
      ...{ ...FREE, costs: USUAL, replicas: 20, spread: 'one', upstream: 0, load: { callersPerReplica: callers } },
    })
    const locked = 400 + 10 + 50 * callers + 1_000
    expect(percent(perSecond, (callers / 2 / locked) * 1e6)).toBeLessThan(1)
    expect(busy['hot row']).toBeGreaterThan(0.99)
  })

  test('a queue at one core is as long as that of random arrivals and a fixed service (M/D/1)', () => {
    const service = 100
    const load = { perSecond: 3_500 }
    const { mean, busy, operationsPerBatch } = simulate({
      ...{ ...FREE, costs: { ...FREE.costs, databasePerBatch: service }, replicas: 500, databaseCores: 1, load },
      ...{ accounts: 1_000_000, seconds: 20 },
    })
    const utilisation = 2 * load.perSecond * service * 1e-6
    expect(percent(busy['database CPU'], utilisation)).toBeLessThan(2)
    expect(operationsPerBatch).toBeLessThan(1.01)
    const queueing = (utilisation * service) / (2 * (1 - utilisation))
    expect(percent(mean, 2 * (service + queueing))).toBeLessThan(3)
  })

  test('flushes are shared: twice as many replicas are twice as many requests for as many flushes', () => {
    const costs = { ...FREE.costs, flush: 2_000 }
    const flushed = (replicas: number) =>
      simulate({ ...FREE, costs, replicas, upstream: 0, load: { callersPerReplica: 1 }, seconds: 2 })
    const [few, many] = [flushed(50), flushed(100)]
    expect(percent(few.flushesPerSecond, 500)).toBeLessThan(1)
    expect(percent(many.flushesPerSecond, 500)).toBeLessThan(1)
    expect(percent(many.perSecond / few.perSecond, 2)).toBeLessThan(3)
  })

  test('what is asked beyond what the cores can do is not done', () => {
    const costs = { ...FREE.costs, databasePerOperation: 100 }
    const load = { callersPerReplica: 200 }
    const { perSecond, busy } = simulate({
      ...{ ...FREE, costs, databaseCores: 2, replicas: 10, load, upstream: 0, accounts: 1_000_000 },
    })
    expect(percent(perSecond, 10_000)).toBeLessThan(3)
    expect(busy['database CPU']).toBeGreaterThan(0.99)
  })
})
