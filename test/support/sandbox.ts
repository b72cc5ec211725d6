import { join } from 'node:path'
import { newFolder } from './duet.ts'

/** The built-in upstream in a process of its own, so that a crowd of clients has the test's process to itself. */
export interface SandboxProcess {
  readonly url: string
  stop(): void
}

export async function startSandbox(): Promise<SandboxProcess> {
  const child = Bun.spawn([join(import.meta.dir, '../../bin/duet'), 'sandbox', '--port', '0'], {
    cwd: newFolder(),
    stdout: 'pipe',
    stderr: 'ignore',
  })
  let printed = ''
  for await (const chunk of child.stdout) {
    printed += new TextDecoder().decode(chunk)
    if (printed.includes('\n')) break
  }
  return { url: /http:\/\/\S+/.exec(printed)?.[0] ?? '', stop: () => child.kill('SIGKILL') }
}
