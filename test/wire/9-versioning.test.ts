import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Duet, type JsonBody, startDuet } from '../support/duet.ts'
import { CHAT, MESSAGES, post, send } from '../support/http.ts'
import { ask, eventually, expectError } from '../support/wire.ts'

const configOf = (...ids: readonly string[]) =>
  `models:\n${ids.map(id => `  - { id: ${id}, price: { input: 1, output: 4 } }\n`).join('')}`

let duet: Duet
beforeAll(async () => {
  duet = await startDuet({ config: configOf('acme/first', 'acme/second') })
})
afterAll(() => duet.stop())

const listed = async (): Promise<string[]> => (await send(duet, '/v1/models')).body.data.map(({ id }: JsonBody) => id)

describe('9: versioning', () => {
  test('9.1: the prefix /v1 is part of {base_url}', async () => {
    expect(duet.base).toEndWith('/v1')
    const headers = { authorization: `Bearer ${duet.key}` }
    expect((await fetch(`${duet.base}/models`, { headers })).status).toBe(200)
  })

  for (const version of ['2023-06-01', '2026-09-21', '1999-01-01', 'tomorrow', undefined]) {
    for (const model of ['acme/first', 'acme/second']) {
      test(`9.4: /messages accepts the protocol-version header ${version ?? 'absent'} (${model})`, async () => {
        const headers = version === undefined ? {} : { 'anthropic-version': version }
        const { status } = await post(duet, MESSAGES, ask('messages', model, 'Hi'), { headers })
        expect(status).toBe(200)
      })
    }
  }

  test('9.3: the catalog changes over time, and GET /models is current', async () => {
    expect(await listed()).toEqual(['acme/first', 'acme/second'])
    writeFileSync(join(duet.folder, 'duet.yaml'), configOf('acme/second', 'acme/third'))
    process.kill(duet.pid, 'SIGHUP')
    expect(await eventually(listed, ids => ids.includes('acme/third'))).toEqual(['acme/second', 'acme/third'])
    expect((await post(duet, CHAT, ask('chat', 'acme/third', 'Hi'))).status).toBe(200)
    expectError(await post(duet, CHAT, ask('chat', 'acme/first', 'Hi')), { status: 503, code: 'model_not_found' })
  })
})
