/** The text format of Prometheus, version 0.0.4. */

export interface Family {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly samples: readonly Sample[]
  /** What the same series of several processes is together; their sum where nothing is said. */
  readonly merge?: Merge
}

export type Merge = 'sum' | 'min'

export interface Sample {
  readonly value: number
  readonly labels?: Readonly<Record<string, string | number>>
  /** `_bucket`, `_sum` or `_count` of a histogram. */
  readonly suffix?: string
}

/** Whoever has something to be scraped. */
export interface Exposed {
  families(): readonly Family[]
}

/** A number that is looked up when it is asked for. */
export const gauge = (about: Pick<Family, 'name' | 'help' | 'merge'>, value: () => number): Exposed => ({
  families: () => [{ ...about, type: 'gauge', samples: [{ value: value() }] }],
})

export const render = (families: readonly Family[]): string => families.map(renderFamily).join('')

function renderFamily({ name, help, type, samples }: Family): string {
  const lines = samples.map(
    ({ suffix = '', labels = {}, value }) => `${name}${suffix}${renderLabels(labels)} ${value}\n`,
  )
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
}

function renderLabels(labels: Readonly<Record<string, string | number>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(String(value))}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '"': '\\"', '\n': '\\n' }

const escaped = (value: string): string => value.replace(/[\\"\n]/g, character => ESCAPES[character] ?? '')
