import type { Browser } from 'playwright-core'

/** One for all tests of a process: to start it takes longer than most of them. */
let running: Promise<Browser> | undefined

const LAUNCH_MS_MAX = 30_000

export function chromium(executablePath: string): Promise<Browser> {
  running ??= launch(executablePath)
  return running
}

export async function closeChromium(): Promise<void> {
  await (await running)?.close()
  running = undefined
}

async function launch(executablePath: string): Promise<Browser> {
  const { chromium } = await import('playwright-core')
  return chromium.launch({
    executablePath,
    timeout: LAUNCH_MS_MAX,
    args: [
      // Containers have no user namespaces for root; the pages are our own.
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
      // Loopback goes around it, and everything else into a proxy that is not there: nothing leaves the machine.
      '--proxy-server=http://127.0.0.1:9',
      // Nothing to draw on, and in containers little memory to share.
      '--disable-gpu',
      '--disable-dev-shm-usage',
    ],
  })
}
