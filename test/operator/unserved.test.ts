import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Duet, startDuet } from '../support/duet.ts'
import { CHAT, post, user } from '../support/http.ts'
import { eventually } from '../support/wire.ts'

/** A port that nothing listens on. */
const NOBODY = 'http://127.0.0.1:9/v1'

const CONFIG = `
models:
  - { id: acme/swift, price: { input: 1, output: 4 } }
  - { id: acme/lonely, price: { input: 1, output: 4 } }
channels:
  - { name: dead, protocol: chat, base_url: ${NOBODY}, api_key: vendor-key-0123456789, models: [acme/swift] }
`

let duet: Duet
beforeAll(async () => {
  duet = await startDuet({ config: CONFIG })
})
afterAll(() => duet.stop())

const ask = (model: string) => post(duet, CHAT, { model, messages: user('Hi') })

describe('a model of the catalog that no channel serves', () => {
  test('is refused as the contract says, and the hint is not about its name', async () => {
    const { status, body } = await ask('acme/lonely')
    expect([status, body.error.code]).toEqual([503, 'model_not_found'])
    expect(body.error.hint).toBe(`The catalog has this model, but no channel serves it (${duet.url}/console/channels).`)
  })

  test('is in the log under its own name, and does not count as failing', async () => {
    const { headers } = await ask('acme/lonely')
    // Nobody waits for it to be written down.
    const { body: row } = await eventually(
      () => duet.admin('GET', `/api/usage/${headers.get('x-request-id')}`),
      ({ status }) => status === 200,
    )
    expect(row).toMatchObject({ model: 'acme/lonely', status: 'model_not_found', channel: '' })
    const { body: models } = await duet.admin('GET', '/api/models')
    const lonely = models.data.find(({ id }: { id: string }) => id === 'acme/lonely')
    expect(lonely.last_day).toEqual({ requests: 0, errors: 0 })
    const { body: overview } = await duet.admin('GET', '/api/overview')
    expect(overview.today.refused).toBeGreaterThan(0)
    expect(overview.today.errors + overview.today.refused).toBe(overview.today.requests)
  })
})

describe('a connection that fails', () => {
  test('is told to callers without its reason, and to the operator with it', async () => {
    const { status, body } = await ask('acme/swift')
    expect(status).toBe(502)
    expect(body.error.message).toStartWith('The connection to the upstream failed (request id: ')
    const { body: channels } = await duet.admin('GET', '/api/channels')
    expect(channels.data[0].health.last_error).toMatch(/^The connection to the upstream failed \(\w+: .+\)/)
    const { body: tested } = await duet.admin('POST', '/api/channels/dead/test', {})
    for (const { error } of tested.attempts) {
      expect(error.message).toMatch(/^The connection to the upstream failed \(\w+: .+\)/)
      expect(error.message).not.toContain('vendor-key')
    }
  })
})
