import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { type Duet, type JsonBody, newFolder } from '../../support/duet.ts'

export const DUET = join(import.meta.dir, '../../../bin/duet')

/** What a command printed, and how it ended. */
export interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
}

/** A folder with nothing in it but a link to `duet`, to be found on the path. */
const binFolder = newFolder()
symlinkSync(DUET, join(binFolder, 'duet'))

/** Nothing of the machine's own environment: a `DUET_URL` or a vendor's key in there would decide what is tested. */
const cleanEnv = (folder: string) => ({ PATH: `${binFolder}:${process.env.PATH ?? ''}`, HOME: folder })

/** The real `duet`, in a process and an environment of its own. */
export function run(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  return spawn([DUET, ...args], options)
}

/** A line as it would be typed into a shell, with `duet` on the path. */
export function shell(line: string, options: RunOptions = {}): Promise<Ran> {
  return spawn(['sh', '-c', line], options)
}

async function spawn(command: string[], { env = {}, cwd = newFolder() }: RunOptions): Promise<Ran> {
  const child = Bun.spawn(command, { cwd, env: { ...cleanEnv(cwd), ...env }, stdout: 'pipe', stderr: 'pipe' })
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { code: await child.exited, out, err }
}

/** What somebody sees who sits at a terminal: both streams, with their control characters. */
export async function runOnTerminal(args: readonly string[], { env = {}, cwd = newFolder() }: RunOptions = {}) {
  const decoder = new TextDecoder()
  let seen = ''
  const child = Bun.spawn([DUET, ...args], {
    cwd,
    env: { ...cleanEnv(cwd), TERM: 'xterm', ...env },
    terminal: {
      cols: 200,
      rows: 50,
      data(_, bytes) {
        seen += decoder.decode(bytes, { stream: true })
      },
    },
  })
  const code = await child.exited
  // The last bytes may come after the end of the process.
  for (let length = -1; length !== seen.length; await Bun.sleep(20)) length = seen.length
  return { code, seen }
}

/** For a server that is to have its books in its folder, whatever store the others are tested on. */
export const EMBEDDED = { DUET_DATABASE_URL: '', DUET_SECRET: '' }

/** The environment that leads to a server of a test. */
export const toward = ({ url, adminToken }: Duet) => ({ DUET_URL: url, DUET_ADMIN_TOKEN: adminToken })

/** Where nothing listens, so that no server of this machine is asked by accident. */
export function freePort(): string {
  const listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  listener.stop(true)
  return String(listener.port)
}

/** Commands for one server. */
export function commandsFor(duet: Duet) {
  const env = toward(duet)
  return {
    duet: (...args: string[]): Promise<Ran> => run(args, { env }),
    /** What a command prints with `--json`, parsed; it must have succeeded. */
    async json(...args: string[]): Promise<JsonBody> {
      const { code, out, err } = await run([...args, '--json'], { env })
      if (code !== 0 || err !== '') throw new Error(`duet ${args.join(' ')} ended with ${code}: ${err}`)
      return JSON.parse(out)
    },
  }
}

/** Table rows by their columns' titles: what stands under a title belongs to it. */
export function readTable(text: string): Record<string, string>[] {
  const [head = '', ...lines] = text.trimEnd().split('\n')
  const titles = head.split(/ {2,}/).filter(title => title !== '')
  return lines.map(line => {
    const cells = line.trim().split(/ {2,}/)
    return Object.fromEntries(titles.map((title, place) => [title, cells[place] ?? '']))
  })
}
