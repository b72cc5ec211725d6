import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Connection, type SnippetName, type SnippetPart, snippet } from '../../console/pages/keys/snippets.ts'
import { type Duet, newFolder, startDuet } from '../support/duet.ts'
import { noteSkipped } from '../support/skipped.ts'

/** What the console offers with a new key is run here as it stands, in a folder where the clients are installed. */

const MODEL = { id: 'anthropic/claude-haiku-4.5', contextLength: 200_000, maxOutputTokens: 8_000 }
const ANSWER = /Hello/
const ROOT = join(import.meta.dir, '../..')
const PYTHON = Bun.which('python3')

describe('snippets for a new key', () => {
  let duet: Duet
  let folder: string
  let connection: Connection

  beforeAll(async () => {
    duet = await startDuet()
    folder = newFolder()
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    const { body } = await duet.admin('POST', '/api/keys', { account: 'default', name: 'snippets' })
    connection = { baseUrl: duet.base, key: body.key, model: MODEL }
  })
  afterAll(() => duet.stop())

  /** What reached Duet with the key since then. */
  const callsOf = async (): Promise<{ protocol: string; status: string; model: string }[]> => {
    const { body: keys } = await duet.admin('GET', '/api/keys')
    const { id } = keys.data.find(({ name }: { name: string }) => name === 'snippets')
    return (await duet.admin('GET', `/api/usage?key=${id}`)).body.data
  }

  test('the lines for curl are answered, in both protocols', async () => {
    const before = (await callsOf()).length
    for (const { text } of snippet('curl', connection)) {
      const { code, printed } = await run(['sh', '-c', `${text} --silent --show-error --fail-with-body`], folder)
      expect([code, printed]).toEqual([0, expect.stringMatching(ANSWER)])
    }
    const calls = (await callsOf()).slice(0, -before || undefined)
    expect(calls.map(({ protocol, status, model }) => [protocol, status, model])).toEqual([
      ['messages', 'ok', MODEL.id],
      ['chat', 'ok', MODEL.id],
    ])
  })

  for (const name of ['openaiTypeScript', 'anthropicTypeScript'] as const) {
    test(`the program for ${name} prints an answer`, async () => {
      const file = join(folder, `${name}.ts`)
      writeFileSync(file, partOf(name, 'code', connection).text)
      const { code, printed } = await run([process.execPath, file], folder)
      expect([code, printed]).toEqual([0, expect.stringMatching(ANSWER)])
    })
  }

  for (const [name, library] of [
    ['openaiPython', 'openai'],
    ['anthropicPython', 'anthropic'],
  ] as const) {
    test.skipIf(PYTHON === null)(`the program for ${name} prints an answer, or compiles at least`, async () => {
      const file = join(folder, `${name}.py`)
      writeFileSync(file, partOf(name, 'code', connection).text)
      const isInstalled = (await run(['python3', '-c', `import ${library}`], folder)).code === 0
      if (!isInstalled) noteSkipped(`Python has no ${library} here: its snippet was compiled, but not run`)
      const { code, printed } = await run(['python3', ...(isInstalled ? [] : ['-m', 'py_compile']), file], folder)
      expect([code, printed]).toEqual([0, isInstalled ? expect.stringMatching(ANSWER) : ''])
    })
  }
  if (PYTHON === null) noteSkipped('there is no python3 here: the snippets for Python were not tried')

  test('the terminal of Claude Code ends up with an address without /v1, the key, and a model for every role', async () => {
    const { text } = partOf('claudeCode', 'shell', connection)
    const { printed } = await run(['sh', '-c', `ANTHROPIC_API_KEY=elsewhere\nclaude() { env; }\n${text}`], folder)
    const environment = Object.fromEntries(printed.split('\n').map(line => line.split('=')))
    expect(environment).toMatchObject({
      ANTHROPIC_BASE_URL: duet.url,
      ANTHROPIC_AUTH_TOKEN: connection.key,
      ANTHROPIC_MODEL: MODEL.id,
      ANTHROPIC_DEFAULT_HAIKU_MODEL: MODEL.id,
      CLAUDE_CODE_SUBAGENT_MODEL: MODEL.id,
    })
    expect(environment).not.toHaveProperty('ANTHROPIC_API_KEY')
  })

  test('the settings of opencode are JSON with an address with /v1 and a provider for the chat protocol', () => {
    const { file, text } = partOf('opencode', 'file', connection)
    expect(file).toBe('opencode.json')
    expect(JSON.parse(text)).toEqual({
      model: `duet/${MODEL.id}`,
      small_model: `duet/${MODEL.id}`,
      provider: {
        duet: {
          npm: '@ai-sdk/openai-compatible',
          name: 'Duet',
          options: { baseURL: duet.base, apiKey: connection.key },
          models: { [MODEL.id]: { name: MODEL.id, limit: { context: 200_000, output: 8_000 } } },
        },
      },
    })
  })

  test('with the .env file both official clients need to be told nothing else', async () => {
    writeFileSync(join(folder, '.env'), partOf('env', 'file', connection).text)
    const file = join(folder, 'bare.ts')
    writeFileSync(
      file,
      `import OpenAI from 'openai'
      import Anthropic from '@anthropic-ai/sdk'
      const ask = { model: '${MODEL.id}', max_tokens: 50, messages: [{ role: 'user', content: 'Hello' }] }
      const chat = await new OpenAI().chat.completions.create(ask)
      const message = await new Anthropic().messages.create(ask)
      console.log(chat.choices.length, message.content.length)`,
    )
    const { code, printed } = await run([process.execPath, '--env-file=.env', file], folder)
    expect([code, printed]).toEqual([0, '1 1\n'])
  })

  test('names with quotes and dollars in them arrive as they are', async () => {
    const odd = 'it\'s/"$HOME" `id` \\n'
    const { text } = partOf('claudeCode', 'shell', { ...connection, model: { ...MODEL, id: odd } })
    const { printed } = await run(['sh', '-c', `claude() { printf %s "$ANTHROPIC_MODEL"; }\n${text}`], folder)
    expect(printed).toBe(odd)

    const file = join(folder, 'odd.ts')
    const program = partOf('openaiTypeScript', 'code', { ...connection, key: odd }).text
    // Only how the key is written matters: the rest would call somebody.
    const quoted = /apiKey: (.*),\n/.exec(program)?.[1]
    writeFileSync(file, `process.stdout.write(${quoted})`)
    expect((await run([process.execPath, file], folder)).printed).toBe(odd)
  })
})

function partOf(name: SnippetName, id: SnippetPart['id'], connection: Connection): SnippetPart {
  const part = snippet(name, connection).find(part => part.id === id)
  if (!part) throw new Error(`${name} has no ${id}`)
  return part
}

const RUN_MS_MAX = 20_000

async function run(command: string[], cwd: string): Promise<{ code: number; printed: string }> {
  const child = Bun.spawn(command, {
    cwd,
    env: { PATH: process.env.PATH ?? '', HOME: cwd },
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: RUN_MS_MAX,
  })
  const [printed, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  const code = await child.exited
  return { code, printed: code === 0 ? printed : printed + errors }
}
