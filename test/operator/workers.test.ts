import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { newDatabase } from '../support/databases.ts'
import { type Duet, failToStart, startDuet } from '../support/duet.ts'
import { CHAT, framesOf, post, user } from '../support/http.ts'
import { logged } from '../support/log.ts'
import { parseMetrics } from '../support/prometheus.ts'
import { eventually, newCaller } from '../support/wire.ts'

/** `DUET_WORKERS`: several processes on one port, which are one Duet for everyone who calls. */

const WORKERS = 3
const TEST_MS_MAX = 60_000
const RESTART_MS_MAX = 15_000

const MODEL = 'openai/gpt-4.1'
const ask = (content: string) => ({ model: MODEL, max_tokens: 4000, stream: true, messages: user(content) })

const envOf = async (more: Readonly<Record<string, string>> = {}) => ({
  ...{ DUET_DATABASE_URL: await newDatabase(), DUET_SECRET: 'secret-of-all-workers' },
  ...{ DUET_WORKERS: String(WORKERS), ...more },
})

const startMany = async (more: Readonly<Record<string, string>> = {}, config?: string): Promise<Duet> =>
  startDuet({ env: await envOf(more), ...(config === undefined ? {} : { config }) })

/** The processes that this one has started and that live. */
function workersOf({ pid }: Duet): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return children.split(' ').filter(Boolean).map(Number)
}

const isAlive = (pid: number): boolean => {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

/** On a connection of its own, so that any of them may get it. */
const call = ({ url, key }: Duet, content: string) =>
  fetch(url + CHAT, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, connection: 'close' },
    body: JSON.stringify(ask(content)),
  })

const scrape = async ({ url }: Duet) =>
  parseMetrics(await (await fetch(`${url}/metrics`, { headers: { connection: 'close' } })).text())

const isWhole = async (response: Response | Promise<Response>) =>
  framesOf(await (await response).text()).at(-1)?.data === '[DONE]'

describe('several workers', () => {
  let duet: Duet
  beforeAll(async () => {
    duet = await startMany()
  }, TEST_MS_MAX)
  afterAll(() => duet.stop(), TEST_MS_MAX)

  test('are one Duet: one banner, one first account, one port', async () => {
    expect(workersOf(duet)).toHaveLength(WORKERS)
    expect(duet.output().match(/is listening/g)).toHaveLength(1)
    expect(duet.output().match(/API key/g)).toHaveLength(1)
    expect((await duet.admin('GET', '/api/accounts')).body.data).toHaveLength(1)
  })

  test('take what another of them has made, at once', async () => {
    for (let round = 0; round < 10; round++) {
      const { key } = await newCaller(duet)
      const answer = await post(duet, CHAT, { ...ask('Hi'), stream: false }, { key, headers: { connection: 'close' } })
      expect(answer.status).toBe(200)
    }
  })

  test('answer for all of them, whichever is asked for figures', async () => {
    const counted = async () => {
      const scraped = await scrape(duet)
      return scraped.samples
        .filter(({ name, labels }) => name === 'duet_requests_total' && labels.code === 'ok')
        .reduce((sum, { value }) => sum + value, 0)
    }
    const before = await counted()
    for (let round = 0; round < 12; round++) expect(await isWhole(call(duet, 'Hi'))).toBe(true)
    for (let round = 0; round < 6; round++) expect(await counted()).toBe(before + 12)
    const scraped = await scrape(duet)
    expect(scraped.samples.filter(({ name }) => name === 'duet_build_info').map(({ value }) => value)).toEqual([1])
    expect(scraped.value('duet_ledger_available')).toBe(1)
  })

  test('are started again when they die, one by one or all at once', async () => {
    const before = workersOf(duet)
    for (const pid of before) process.kill(pid, 'SIGKILL')
    const after = await eventually(
      () => workersOf(duet).filter(pid => !before.includes(pid)),
      pids => pids.length === WORKERS,
      RESTART_MS_MAX,
    )
    expect(after).toHaveLength(WORKERS)
    const answers = () => isWhole(call(duet, 'Hi')).catch(() => false)
    expect(await eventually(answers, isAnswered => isAnswered, RESTART_MS_MAX)).toBe(true)
    expect(logged(duet, 'a worker ended, and another one is started')).toHaveLength(WORKERS)
  })

  test('drain together: what is under way finishes, new work is refused, and all of them end with 0', async () => {
    const count = 9
    const underWay = Array.from({ length: count }, () => call(duet, '[[delay 1s]] [[tokens 100]]'))
    const isUnderWay = async () => (await scrape(duet)).value('duet_inflight_requests')
    expect(await eventually(isUnderWay, inside => inside === count)).toBe(count)
    const pids = workersOf(duet)
    const stopped = duet.stop()
    expect(await Promise.all(underWay.map(isWhole))).toEqual(underWay.map(() => true))
    expect(await stopped).toBe(0)
    expect(pids.filter(isAlive)).toEqual([])
    expect(logged(duet, 'stopped')).toHaveLength(WORKERS)
    expect(await call(duet, 'Hi').catch(() => 'refused')).toBe('refused')
  })
})

test(
  'a second signal hurries all of them: what is under way is cut, and settled',
  async () => {
    const duet = await startMany({ DUET_DRAIN_SECONDS: '86400' })
    const stalled = await Promise.all(Array.from({ length: 6 }, () => call(duet, '[[stall]]')))
    const stopped = duet.stop()
    await eventually(
      () => logged(duet, 'stopping').length,
      lines => lines === WORKERS,
    )
    process.kill(duet.pid, 'SIGTERM')
    for (const response of stalled) expect(await response.text()).toContain('"shutting_down"')
    expect(await stopped).toBe(0)
  },
  TEST_MS_MAX,
)

test(
  'workers whose parent is killed finish what is under way, and end',
  async () => {
    const duet = await startMany()
    const pids = workersOf(duet)
    const underWay = Array.from({ length: 6 }, () => call(duet, '[[delay 1s]]'))
    await eventually(
      async () => (await scrape(duet)).value('duet_inflight_requests'),
      inside => inside === underWay.length,
    )
    await duet.stop('SIGKILL')
    expect(await Promise.all(underWay.map(isWhole))).toEqual(underWay.map(() => true))
    const alive = await eventually(
      () => pids.filter(isAlive),
      living => living.length === 0,
      RESTART_MS_MAX,
    )
    expect(alive).toEqual([])
  },
  TEST_MS_MAX,
)

test(
  'SIGHUP reaches all of them',
  async () => {
    const duet = await startMany({}, 'aliases: { one: openai/gpt-4.1 }\n')
    process.kill(duet.pid, 'SIGHUP')
    const read = () => logged(duet, 'configuration read again').length
    expect(await eventually(read, lines => lines === WORKERS)).toBe(WORKERS)
    expect(await duet.stop()).toBe(0)
  },
  TEST_MS_MAX,
)

describe('a start of several', () => {
  test('that cannot be is told once, as that of one is', async () => {
    const env = await envOf()
    const { code, output } = await failToStart({ env, config: 'nonsense: true\n' })
    expect(code).toBe(1)
    expect(output.match(/nonsense: unknown key/g)).toHaveLength(1)
    expect(output).toStartWith('duet: cannot start: the configuration has a fault')
  })

  test('does not share a port that is taken', async () => {
    const first = await startMany()
    const env = await envOf({ DUET_PORT: new URL(first.url).port })
    const { code, output } = await failToStart({ env })
    expect(code).toBe(1)
    expect(output).toMatch(/^duet: cannot start: .*port/im)
    await first.stop()
  }, 60_000)
})
