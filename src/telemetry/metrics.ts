interface RequestLabels {
  readonly protocol: string
  readonly status: number
  readonly code: string
}

/** Counters for Prometheus. Labels are closed sets, so that no caller can make them grow. */
export class Metrics {
  private readonly requests = new Map<string, number>()
  private readonly version: string

  constructor(version: string) {
    this.version = version
  }

  request({ protocol, status, code }: RequestLabels): void {
    const labels = `protocol="${protocol}",status="${status}",code="${code}"`
    this.requests.set(labels, (this.requests.get(labels) ?? 0) + 1)
  }

  expose(): string {
    const rows = [...this.requests].map(([labels, count]) => `duet_requests_total{${labels}} ${count}`)
    return [
      '# HELP duet_build_info The running version.',
      '# TYPE duet_build_info gauge',
      `duet_build_info{version="${this.version}"} 1`,
      '# HELP duet_requests_total Requests of callers by outcome.',
      '# TYPE duet_requests_total counter',
      ...rows,
      '# HELP process_resident_memory_bytes Resident memory size in bytes.',
      '# TYPE process_resident_memory_bytes gauge',
      `process_resident_memory_bytes ${process.memoryUsage.rss()}`,
      '',
    ].join('\n')
  }
}
