/** The text format of Prometheus, read by somebody who forgives nothing. */

export interface Scraped {
  /** The one sample with exactly these labels; throws if there is none. */
  value(name: string, labels?: Readonly<Record<string, string>>): number
  /** Of a gauge that is 1 for one state and 0 for all others: that state. */
  state(name: string, labels: Readonly<Record<string, string>>): string
  /** The names of all families. */
  readonly families: readonly string[]
  readonly samples: readonly ScrapedSample[]
}

export interface ScrapedSample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

interface Family {
  readonly name: string
  readonly type: string
  readonly samples: ScrapedSample[]
}

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*'
const SAMPLE = new RegExp(`^(${NAME})(?:\\{(.*)\\})? (-?\\d+(?:\\.\\d+)?(?:e[+-]\\d+)?|\\+Inf|-Inf|NaN)$`)
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/y
const TYPES = ['counter', 'gauge', 'histogram']

export function parseMetrics(text: string): Scraped {
  if (!text.endsWith('\n')) throw new Error('the last line does not end')
  const families = readFamilies(text.slice(0, -1).split('\n'))
  const samples = families.flatMap(family => family.samples)
  const seen = new Set<string>()
  for (const { name, labels } of samples) {
    const series = name + canonical(labels)
    if (seen.has(series)) throw new Error(`${series} is there twice`)
    seen.add(series)
  }
  for (const family of families) if (family.type === 'histogram') checkHistogram(family)
  const find = (name: string, labels: Readonly<Record<string, string>> = {}) =>
    samples.find(sample => sample.name === name && canonical(sample.labels) === canonical(labels))
  return {
    families: families.map(({ name }) => name),
    samples,
    value(name, labels) {
      const sample = find(name, labels)
      if (!sample) throw new Error(`there is no ${name}${canonical(labels ?? {})} in\n${text}`)
      return sample.value
    },
    state(name, labels) {
      const ofThis = samples.filter(sample => {
        const { state: _, ...others } = sample.labels
        return sample.name === name && canonical(others) === canonical(labels)
      })
      const values = ofThis.map(({ value }) => value).toSorted()
      if (values.join() !== [...ofThis.slice(1).map(() => 0), 1].join()) {
        throw new Error(`${name}${canonical(labels)} has the values ${values}`)
      }
      return ofThis.find(({ value }) => value === 1)?.labels.state ?? ''
    },
  }
}

function readFamilies(lines: readonly string[]): Family[] {
  const families: Family[] = []
  for (let place = 0; place < lines.length; ) {
    const [, name, help] = new RegExp(`^# HELP (${NAME}) (.+)$`).exec(lines[place] ?? '') ?? []
    const [, typed, type = ''] = new RegExp(`^# TYPE (${NAME}) (\\w+)$`).exec(lines[place + 1] ?? '') ?? []
    if (name === undefined || !help || typed !== name) throw new Error(`no family begins with: ${lines[place]}`)
    if (!TYPES.includes(type)) throw new Error(`${name} is a ${type}`)
    if (families.some(family => family.name === name)) throw new Error(`${name} is described twice`)
    place += 2
    const samples: ScrapedSample[] = []
    for (; place < lines.length && !lines[place]?.startsWith('#'); place++) samples.push(readSample(lines[place] ?? ''))
    const stranger = samples.find(sample => !belongs(sample.name, name, type))
    if (stranger) throw new Error(`${stranger.name} stands under ${name}`)
    families.push({ name, type, samples })
  }
  return families
}

const belongs = (sample: string, family: string, type: string): boolean =>
  type === 'histogram' ? ['_bucket', '_sum', '_count'].some(suffix => sample === family + suffix) : sample === family

function readSample(line: string): ScrapedSample {
  const [, name, labels = '', value] = SAMPLE.exec(line) ?? []
  if (name === undefined || value === undefined) throw new Error(`no sample: ${line}`)
  return { name, labels: readLabels(labels, line), value: Number(value.replace('Inf', 'Infinity')) }
}

function readLabels(text: string, line: string): Record<string, string> {
  const labels: Record<string, string> = {}
  for (LABEL.lastIndex = 0; LABEL.lastIndex < text.length; ) {
    const [, name, value] = LABEL.exec(text) ?? []
    if (name === undefined || value === undefined || name in labels) throw new Error(`faulty labels: ${line}`)
    labels[name] = value.replace(/\\(.)/g, (_, character) => (character === 'n' ? '\n' : character))
  }
  return labels
}

const canonical = (labels: Readonly<Record<string, string>>): string =>
  JSON.stringify(Object.entries(labels).toSorted())

/** Buckets count up to the last one, which has all there is. */
function checkHistogram({ name, samples }: Family): void {
  const series = Map.groupBy(samples, ({ labels: { le: _, ...others } }) => canonical(others))
  for (const [labels, members] of series) {
    const buckets = members.filter(sample => sample.name === `${name}_bucket`)
    const bounds = buckets.map(({ labels: { le = '' } }) => Number(le.replace('+Inf', 'Infinity')))
    const counts = buckets.map(({ value }) => value)
    const total = members.find(sample => sample.name === `${name}_count`)?.value
    const isSound = isRising(bounds) && isRising(counts, true) && bounds.at(-1) === Number.POSITIVE_INFINITY
    if (!isSound || counts.at(-1) !== total || !members.some(sample => sample.name === `${name}_sum`)) {
      throw new Error(`the histogram ${name}${labels} does not add up`)
    }
  }
}

const isRising = (numbers: readonly number[], mayStay = false): boolean =>
  numbers.every((number, place) => {
    const before = numbers[place - 1] ?? Number.NEGATIVE_INFINITY
    return mayStay ? number >= before : number > before
  })
