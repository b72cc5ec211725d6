import { describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { STORE, storeEnv } from '../../support/databases.ts'
import { newFolder } from '../../support/duet.ts'
import { DUET, freePort, run } from './run.ts'

interface Started {
  readonly text: string
  readonly folder: string
  stop(): Promise<number>
}

/** Starts a gateway or a sandbox with these words, and returns when it has printed what is waited for. */
async function start(words: string[], until: string, env: Record<string, string> = {}): Promise<Started> {
  const folder = newFolder()
  const child = Bun.spawn([DUET, ...words], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', HOME: folder, ...(await storeEnv(folder)), ...env },
    stdout: 'pipe',
    stderr: 'ignore',
  })
  let text = ''
  for await (const chunk of child.stdout) {
    text += new TextDecoder().decode(chunk)
    if (text.includes(until)) break
  }
  const stop = () => {
    child.kill('SIGTERM')
    return child.exited
  }
  return { text, folder, stop }
}

describe('duet start', () => {
  test('is what duet does when it is told nothing else; options go before variables', async () => {
    const port = freePort()
    const { text, folder, stop } = await start(['--port', port, '--data', './books'], '/v1/messages', {
      DUET_PORT: 'nonsense',
      DUET_DATA: '/nowhere/at/all',
    })
    expect(text).toContain(`Base URL        http://127.0.0.1:${port}/v1`)
    const written = STORE === 'sqlite' ? 'duet.db' : 'admin-token'
    expect(await Bun.file(join(folder, 'books', written)).exists()).toBe(true)
    expect(await stop()).toBe(0)
  })

  test('takes --host and --config', async () => {
    const config = join(newFolder(), 'other.yaml')
    writeFileSync(config, 'models: [{ id: acme/swift-2, price: { input: 1, output: 4 } }]')
    const words = ['start', '--port=0', '--host', 'localhost', '--config', config]
    const { text, stop } = await start(words, '/v1/messages')
    expect(text).toContain('Base URL        http://localhost:')
    expect(text).toContain('"model":"acme/swift-2"')
    expect(await stop()).toBe(0)
  })

  test('with --json prints one line of it', async () => {
    const { text, stop } = await start(['start', '--port', '0', '--json'], '\n')
    const { url, sign_in_link, ...rest } = JSON.parse(text)
    expect(sign_in_link).toMatch(/\/console\/welcome#[\w-]{43}$/)
    expect(sign_in_link).toStartWith(`${url}/`)
    expect(rest).toEqual({
      base_url: `${url}/v1`,
      key: expect.stringMatching(/^sk-duet-/),
      console_url: `${url}/console`,
      admin_token_file: 'data/admin-token',
      sandbox: true,
      notes: [],
    })
    expect(await stop()).toBe(0)
  })

  test('with --quiet prints the first key alone, which nobody would learn otherwise', async () => {
    const { text, stop } = await start(['--quiet', '--port', '0'], '\n')
    expect(text).toMatch(/^sk-duet-[A-Za-z0-9_-]{43}\n$/)
    expect(await stop()).toBe(0)
  })

  test('that fails says why, with 1; to scripts in JSON', async () => {
    const words = ['start', '--port', '0', '--config', '/no/such.yaml']
    const { code, out, err } = await run(words)
    expect([code, out]).toEqual([1, ''])
    expect(err).toStartWith('duet: cannot start: the configuration has a fault:\n  - DUET_CONFIG: there is no file')
    expect(JSON.parse((await run([...words, '--json'])).err).error.message).toStartWith('cannot start: ')
  })

  test('refuses a port that is none with 2', async () => {
    for (const port of ['http', '65536', '-1', '7070.5']) {
      const { code, err } = await run(['start', '--port', port])
      expect([code, err.split('\n')[0]]).toEqual([2, `duet: --port: must be a number from 0 to 65535, not "${port}"`])
    }
  })
})

describe('duet sandbox', () => {
  test('with --json prints its address', async () => {
    const { text, stop } = await start(['sandbox', '--port', '0', '--json'], '\n')
    expect((await fetch(`${JSON.parse(text).url}/models`)).status).toBeGreaterThanOrEqual(200)
    expect(await stop()).toBe(0)
  })

  test('on a port that is taken says so, with 1', async () => {
    const blocker = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('') })
    const { code, err } = await run(['sandbox', '--port', String(blocker.port)])
    expect(code).toBe(1)
    expect(err).toMatch(/^duet: the sandbox cannot start: .*\n$/)
    await blocker.stop(true)
  })
})
