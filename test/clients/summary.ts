import { Readable } from 'node:stream'
import { spec, type TestEvent } from 'node:test/reporters'

/** Node's own report, with last lines as `bun test` prints them: whoever counts the one can count the other. */
export default async function* summary(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  let [passed, failed] = [0, 0]
  async function* watched() {
    for await (const event of events) {
      // Each file has a summary too; the one of them all names no file.
      if (event.type === 'test:summary' && event.data.file === undefined) {
        const { tests, skipped, todo, ...counts } = event.data.counts
        passed = counts.passed
        failed = tests - passed - skipped - todo
      }
      yield event
    }
  }
  for await (const text of Readable.from(watched()).pipe(spec())) yield String(text)
  yield `\n ${passed} pass\n ${failed} fail\n`
}
