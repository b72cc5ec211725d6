import { join } from 'node:path'
import type { Outcome } from '../rounds.ts'
import { addedOf, figureOf, type Spread } from './figures.ts'
import { type Bar, barChart, type Plot } from './plot.ts'

const FOLDER = join(import.meta.dir, '../../docs/images')

/** Whom a plot shows, from the top down; `direct` is no gateway. */
const LABELS: Readonly<Record<string, string>> = {
  nginx: 'nginx',
  bare: 'bare Bun proxy',
  duet: 'Duet',
  'duet translated': 'Duet, translating',
  portkey: 'Portkey',
}

const whole = (value: number): string => Math.round(value).toLocaleString('en')
const thousands = (value: number): string => `${whole(value / 1000)} k`

/** The plots of the README; one whose workload was not measured stays as it is. */
export async function writePlots(outcomes: readonly Outcome[]): Promise<void> {
  const pinned = (id: string) =>
    outcomes.find(({ workload, placement }) => workload.id === id && placement === 'pinned')
  const plots: Record<string, Plot | undefined> = {
    chat: plotOf(pinned('chat'), figureOf, {
      title: 'Small chat: requests a second on one core',
      subtitle: '1 KB in, 1 KB out. Duet with key check, balance, cap, ledger on disk and usage record.',
      figure: 'rate',
      write: whole,
    }),
    streams: plotOf(pinned('stream'), figureOf, {
      title: 'Streams: frames a second on one core',
      subtitle: 'Answers of 300 frames, every frame checked.',
      figure: 'rate',
      write: thousands,
    }),
    latency: plotOf(pinned('rate-1000'), addedOf, {
      // One that cannot keep up would have a bar of seconds, and nobody else one that can be seen.
      without: 'portkey',
      title: 'Added at 1,000 requests a second, 99th percentile',
      subtitle: 'Milliseconds over asking the upstream directly; open loop. Less is better.',
      figure: 'p99Milliseconds',
      write: value => `${value.toFixed(2)} ms`,
    }),
    memory: plotOf(pinned('paced-5000'), figureOf, {
      title: '5,000 streams at once: memory each',
      subtitle: 'A frame of each every 100 ms on one core; Duet translates, the others relay. Less is better.',
      figure: 'kilobytes',
      write: value => `${value.toFixed(1)} KB`,
    }),
  }
  for (const [name, plot] of Object.entries(plots)) {
    if (plot && plot.bars.length > 0) await Bun.write(join(FOLDER, `bench-${name}.svg`), barChart(plot))
  }
}

type Read = (outcome: Outcome, entrant: string, figure: string) => Spread | undefined

function plotOf(
  outcome: Outcome | undefined,
  read: Read,
  { figure, without, ...rest }: Omit<Plot, 'bars'> & { readonly figure: string; readonly without?: string },
): Plot | undefined {
  if (!outcome) return undefined
  const bars = Object.entries(LABELS).flatMap(([entrant, label]): Bar[] => {
    const spread = read(outcome, entrant, figure)
    return spread && entrant !== without ? [{ label, spread, isOurs: entrant.startsWith('duet') }] : []
  })
  return { ...rest, bars }
}
