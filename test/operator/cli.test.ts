import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { newFolder } from '../support/duet.ts'

const DUET = join(import.meta.dir, '../../bin/duet')

async function run(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const child = Bun.spawn([DUET, ...args], { cwd: newFolder(), stdout: 'pipe', stderr: 'pipe' })
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { code: await child.exited, out, err }
}

describe('the command line', () => {
  test('explains itself', async () => {
    for (const word of ['help', '--help', '-h']) {
      const { code, out } = await run(word)
      expect(code).toBe(0)
      for (const command of ['start', 'sandbox', 'version', 'help']) expect(out).toContain(`  ${command} `)
    }
  })

  test('tells its version', async () => {
    const { version } = await Bun.file(join(import.meta.dir, '../../package.json')).json()
    expect((await run('--version')).out.trim()).toBe(version)
  })

  test('refuses what it does not know with 2 and says what there is', async () => {
    const { code, out, err } = await run('dance')
    expect([code, out]).toEqual([2, ''])
    expect(err).toStartWith('duet: there is no command "dance"')
    expect(err).toContain('Usage: duet')
    expect((await run('sandbox', '--port', 'ninety')).code).toBe(2)
    expect((await run('sandbox', '--prot', '90')).code).toBe(2)
  })

  test('runs the sandbox alone, for both protocols, until it is told to stop', async () => {
    const child = Bun.spawn([DUET, 'sandbox', '--port', '0'], { cwd: newFolder(), stdout: 'pipe', stderr: 'pipe' })
    let printed = ''
    for await (const chunk of child.stdout) {
      printed += new TextDecoder().decode(chunk)
      if (printed.includes('\n')) break
    }
    const url = /http:\/\/\S+/.exec(printed)?.[0] ?? ''
    const ask = (path: string) =>
      fetch(url + path, {
        method: 'POST',
        body: JSON.stringify({ model: 'any/model', max_tokens: 20, messages: [{ role: 'user', content: 'Hello' }] }),
      })
    expect(await (await ask('/chat/completions')).text()).toContain('"object":"chat.completion"')
    expect(await (await ask('/messages')).text()).toContain('"type":"message"')
    child.kill('SIGTERM')
    expect(await child.exited).toBe(0)
  })

  test('works through a link, as npm installs it', async () => {
    const link = join(newFolder(), 'duet')
    await Bun.$`ln -s ${DUET} ${link}`.quiet()
    const child = Bun.spawn([link, 'version'], { stdout: 'pipe' })
    expect((await new Response(child.stdout).text()).trim()).toMatch(/^\d+\.\d+\.\d+/)
  })
})
