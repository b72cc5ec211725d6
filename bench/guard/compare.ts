import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bare } from '../contestants/bare.ts'
import type { Contestant, Running } from '../contestants/contestant.ts'
import { duetOf } from '../contestants/duet.ts'
import { ANYWHERE } from '../machine/cores.ts'
import { startUpstream } from '../machine/mock.ts'
import { cpuSeconds } from '../machine/processes.ts'
import type { Ask, Shape } from '../requests.ts'
import { median } from '../results.ts'

const ROOT = join(import.meta.dir, '../..')
const SMALL: Shape = { protocol: 'chat', behaviour: 'whole-1000', bytes: 1_000 }
const CALLERS = 32
const WARM_UP_MS = 1_000
const TURN_MS = 1_500
const ROUNDS = 5

/**
 * How many requests Duet serves with a second of processor time, as a share of what the bare proxy does with it. Processor
 * time is all that counts, so it matters little what else the machine does, or that the callers here are slow.
 */
export async function guardRatio(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'duet-guard-'))
  const upstream = await startUpstream([process.execPath, join(import.meta.dir, 'mock.ts')])
  const running: Running[] = []
  const start = async (contestant: Contestant): Promise<Running> => {
    const own = join(folder, contestant.name)
    mkdirSync(own)
    const started = await contestant.start({ upstream: upstream.url, placement: ANYWHERE, folder: own })
    running.push(started)
    return started
  }
  try {
    const [proxy, duet] = [await start(bare), await start(duetOf({ name: 'duet', root: ROOT }, [SMALL.behaviour]))]
    for (const one of [proxy, duet]) await requestsPerCpuSecond(one, WARM_UP_MS)
    const ratios: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const [limit, ours] = [await requestsPerCpuSecond(proxy, TURN_MS), await requestsPerCpuSecond(duet, TURN_MS)]
      ratios.push(ours / limit)
    }
    return median(ratios)
  } finally {
    for (const one of running) await one.stop()
    await upstream.stop()
    rmSync(folder, { recursive: true })
  }
}

async function requestsPerCpuSecond({ pid, ask }: Running, forMs: number): Promise<number> {
  if (pid === undefined) throw new Error('there is no process to be measured')
  const before = cpuSeconds(pid)
  const answered = await callersOf(ask(SMALL), forMs)
  return answered / (cpuSeconds(pid) - before)
}

/** Each asks again as soon as it is answered; returns how often that was. */
async function callersOf({ url, headers, body }: Ask, forMs: number): Promise<number> {
  const end = performance.now() + forMs
  let answered = 0
  const caller = async () => {
    while (performance.now() < end) {
      const response = await fetch(url, { method: 'POST', headers, body })
      const text = await response.text()
      if (response.status !== 200) throw new Error(`${url}: ${response.status} ${text}`)
      answered++
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, caller))
  return answered
}
