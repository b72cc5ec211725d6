import { join } from 'node:path'
import { adopt } from '../machine/children.ts'
import type { CallersOptions, Counted } from './callers.ts'

const CALLERS = join(import.meta.dir, 'callers.ts')

/** A process with callers, and how it is spoken with. */
export class Child {
  private readonly process
  private readonly lines: AsyncIterator<string>

  constructor(options: CallersOptions) {
    const command = [process.execPath, CALLERS, JSON.stringify(options)]
    this.process = adopt(Bun.spawn(command, { stdio: ['pipe', 'pipe', 'inherit'] }))
    this.lines = linesOf(this.process.stdout)
  }

  tell(word: string): void {
    this.process.stdin.write(`${word}\n`)
    this.process.stdin.flush()
  }

  async says(word: string): Promise<void> {
    const line = await this.next()
    if (line !== word) throw new Error(`a replica said ${line}`)
  }

  async answer(): Promise<Counted> {
    return JSON.parse(await this.next()) as Counted
  }

  private async next(): Promise<string> {
    const { value, done } = await this.lines.next()
    if (done) throw new Error(`a replica ended with ${await this.process.exited}`)
    return value
  }
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const piece of stream) {
    text += decoder.decode(piece, { stream: true })
    const lines = text.split('\n')
    text = lines.pop() ?? ''
    yield* lines
  }
}
