import { join } from 'node:path'
import { percentile } from '../src/core/percentile.ts'
import { cleanUp, KEY, startDuet } from '../test/support/duet.ts'
import { configFor, scriptUpstream } from '../test/support/upstream.ts'
import type { Load } from './refused-callers.ts'
import { machine, median, writeResults } from './results.ts'

/**
 * How long a request that is one too many waits for its refusal, and what becomes of those under way meanwhile. The ratio
 * is to a server that does nothing but refuse, asked in the same way in the same run; contestants take turns.
 *
 *   npm run bench:shedding [-- --rounds 5 --seconds 2]
 */

const CONCURRENCIES = [1, 10, 100, 1_000]
const ROUNDS = numberOption('--rounds', 5)
const SECONDS = numberOption('--seconds', 2)
const STREAMS = 8
/** What an upstream with a fast model sends. */
const TICK_MS = 20
const BODY = JSON.stringify({ model: 'acme/swift-2', messages: [{ role: 'user', content: 'word '.repeat(1_000) }] })
const REQUEST = [
  'POST /v1/chat/completions HTTP/1.1',
  'host: 127.0.0.1',
  `authorization: Bearer ${KEY}`,
  `content-length: ${BODY.length}`,
  '',
  BODY,
].join('\r\n')

const utf8 = new TextEncoder()
const chunk = { id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm' }
const tick = `data: ${JSON.stringify({ ...chunk, choices: [{ index: 0, delta: { content: 'x' }, finish_reason: null }] })}\n\n`
const upstream = scriptUpstream(() => {
  let timer: ReturnType<typeof setInterval>
  const stream = new ReadableStream<Uint8Array>({
    start: controller => {
      timer = setInterval(() => controller.enqueue(utf8.encode(tick)), TICK_MS)
    },
    cancel: () => clearInterval(timer),
  })
  return new Response(stream, { headers: { 'content-type': 'text/event-stream' } })
})

const duet = await startDuet({
  config: configFor(upstream.base, 'chat'),
  env: { DUET_MAX_IN_FLIGHT: String(STREAMS), DUET_DRAIN_SECONDS: '0' },
})
const bare = Bun.spawn([process.execPath, join(import.meta.dir, 'bare-refuser.ts')], { stdout: 'pipe' })
const bareUrl = `http://127.0.0.1:${await firstLine(bare.stdout)}`
const gaps = await listenTo(STREAMS)

await Bun.sleep(SECONDS * 1000)
const quiet = gaps.take()
const contests = CONCURRENCIES.map(concurrency => ({
  concurrency,
  ours: [] as Load[],
  bare: [] as Load[],
  gaps: [] as number[],
}))
for (let round = 1; round <= ROUNDS; round++) {
  for (const contest of contests) {
    contest.bare.push(await load(bareUrl, contest.concurrency))
    gaps.take()
    contest.ours.push(await load(duet.url, contest.concurrency))
    contest.gaps.push(...gaps.take())
    process.stderr.write(`round ${round} of ${ROUNDS}: ${contest.concurrency} at once\n`)
  }
}

const of = (loads: readonly Load[], value: (load: Load) => number) => median(loads.map(value))
const rows = contests.map(({ concurrency, ours, bare, gaps }) => {
  const [p50, p99, rate] = [of(ours, load => load.p50), of(ours, load => load.p99), of(ours, load => load.rate)]
  const [least, bareRate] = [of(bare, load => load.p50), of(bare, load => load.rate)]
  const figures = [p50.toFixed(2), p99.toFixed(2), Math.round(rate).toLocaleString('en'), least.toFixed(2)]
  const ratios = [(p50 / least).toFixed(2), (rate / bareRate).toFixed(2), (percentile(gaps, 99) ?? 0).toFixed(1)]
  return `| ${[concurrency, ...figures, ...ratios].join(' | ')} |`
})

await writeResults('shedding', [
  '## Refusing what is too much',
  '',
  `${machine()}. Requests of ${BODY.length} bytes at a Duet that has ${STREAMS} streams under way and takes no more. Medians of ${ROUNDS} rounds of`,
  `${SECONDS} seconds; \`npm run bench:shedding\`. The last column is the time between two frames of the streams under way, which the upstream sends`,
  `every ${TICK_MS} ms: its 99th percentile is ${(percentile(quiet, 99) ?? 0).toFixed(1)} ms while nobody else asks.`,
  '',
  '| at once | ms, median | ms, p99 | refusals/s | bare, ms | ratio of ms | ratio of rates | frames, ms p99 |',
  '|---:|---:|---:|---:|---:|---:|---:|---:|',
  ...rows,
])

bare.kill()
await duet.stop()
await upstream.stop()
cleanUp()
process.exit()

/** In a process of its own: whoever listens to the streams must not be busy with it. */
async function load(url: string, concurrency: number): Promise<Load> {
  const args = [url, concurrency, SECONDS].map(String)
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'refused-callers.ts'), ...args], {
    stdin: new Blob([REQUEST]),
    stdout: 'pipe',
  })
  return new Response(child.stdout).json() as Promise<Load>
}

/** Milliseconds between the frames of so many streams, as their callers see them. */
async function listenTo(streams: number): Promise<{ take(): number[] }> {
  let seen: number[] = []
  const headers = { authorization: `Bearer ${KEY}` }
  const body = JSON.stringify({ ...JSON.parse(BODY), stream: true, max_tokens: 8_000 })
  for (let count = 0; count < streams; count++) {
    const response = await fetch(`${duet.base}/chat/completions`, { method: 'POST', headers, body })
    if (response.status !== 200) throw new Error(await response.text())
    listen(response)
  }
  return {
    take() {
      const taken = seen
      seen = []
      return taken
    },
  }

  async function listen({ body }: Response): Promise<void> {
    let last = performance.now()
    for await (const _ of body ?? []) {
      const now = performance.now()
      seen.push(now - last)
      last = now
    }
  }
}

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  let text = ''
  for await (const piece of stream) {
    text += new TextDecoder().decode(piece)
    if (text.includes('\n')) break
  }
  return text.trim()
}

function numberOption(name: string, fallback: number): number {
  const place = process.argv.indexOf(name)
  return place === -1 ? fallback : Number(process.argv[place + 1])
}
