import type { Exposed, Family } from './prometheus.ts'

interface RequestLabels {
  readonly protocol: string
  readonly status: number
  readonly code: string
}

interface RequestCount {
  readonly labels: Readonly<Record<string, string | number>>
  value: number
}

/** What Prometheus scrapes. Labels are closed sets, or names of the catalog, so that no caller can make them grow. */
export class Metrics {
  private readonly requests = new Map<string, RequestCount>()
  private readonly version: string
  private readonly parts: readonly Exposed[]

  constructor(version: string, parts: readonly Exposed[]) {
    this.version = version
    this.parts = parts
  }

  request({ protocol, status, code }: RequestLabels): void {
    const name = `${protocol} ${status} ${code}`
    const known = this.requests.get(name)
    if (known) known.value++
    else this.requests.set(name, { labels: { protocol, status, code }, value: 1 })
  }

  families(): readonly Family[] {
    return [...this.own(), ...this.parts.flatMap(part => part.families())]
  }

  private own(): Family[] {
    return [
      {
        name: 'duet_build_info',
        help: 'The running version.',
        type: 'gauge',
        merge: 'min',
        samples: [{ labels: { version: this.version }, value: 1 }],
      },
      {
        name: 'duet_requests_total',
        help: 'Requests of callers by outcome.',
        type: 'counter',
        samples: [...this.requests.values()],
      },
      {
        name: 'process_resident_memory_bytes',
        help: 'Resident memory size in bytes.',
        type: 'gauge',
        samples: [{ value: process.memoryUsage.rss() }],
      },
    ]
  }
}
