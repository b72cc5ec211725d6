import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { COMMANDS } from '../../../src/cli/commands.ts'
import { isGroup } from '../../../src/cli/find-command.ts'
import { type Duet, startDuet } from '../../support/duet.ts'
import { CHAT, post, user } from '../../support/http.ts'
import { shell } from './run.ts'

const PAGE = await Bun.file(join(import.meta.dir, '../../../docs/cli.md')).text()

describe('the page about the command line', () => {
  let server: Duet
  beforeAll(async () => {
    server = await startDuet({ env: { DUET_ADMIN_TOKEN: '' } })
    await post(server, CHAT, { model: 'openai/gpt-4.1', messages: user('Hello') })
  })
  afterAll(() => server.stop())

  test('names every command and every option', () => {
    for (const [name, entry] of Object.entries(COMMANDS)) {
      const commands = isGroup(entry) ? entry.commands : { '': entry }
      for (const [inner, { options = {} }] of Object.entries(commands)) {
        expect(PAGE).toContain(`\`duet ${`${name} ${inner}`.trim()}`)
        for (const option of Object.keys(options)) expect(PAGE).toContain(`--${option}`)
      }
    }
  })

  test('has examples that work, in the folder of the server', async () => {
    const blocks = [...PAGE.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text = '']) => text)
    expect(blocks).toHaveLength(8)
    const options = { cwd: server.folder, env: { DUET_PORT: new URL(server.url).port } }
    for (const block of blocks) {
      const { code, err } = await shell(`set -eu\n${block}`, options)
      expect([code, err]).toEqual([0, expect.not.stringContaining('duet:')])
    }
    const { out } = await shell('duet accounts show team-a --json', options)
    expect(JSON.parse(out).balance).toBe('30.00')
  })
})
