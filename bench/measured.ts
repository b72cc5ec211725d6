/** What a number of pairs took. */
export interface Measured {
  readonly perSecond: number
  /** Of all threads of the process, in microseconds. */
  readonly cpuPerPair: number
}

/** Call what it returns at the end. */
export function startMeasuring(): (pairs: number) => Measured {
  const [begun, cpu] = [performance.now(), process.cpuUsage()]
  return pairs => {
    const { user, system } = process.cpuUsage(cpu)
    return { perSecond: (pairs * 1000) / (performance.now() - begun), cpuPerPair: (user + system) / pairs }
  }
}
