import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Duet, type JsonBody, startDuet } from '../../support/duet.ts'
import { send } from '../../support/http.ts'
import { inviteMember } from '../../support/people.ts'
import { expectError } from '../../support/wire.ts'
import { chat, modelOf, pathOf } from './stage.ts'

const BUILTIN = 'openai/gpt-4.1'
const ADDED = 'acme/swift-2'

const listed = async (duet: Duet): Promise<string[]> =>
  (await send(duet, '/v1/models')).body.data.map(({ id }: { id: string }) => id)

const pricesOf = async (duet: Duet, id: string): Promise<JsonBody[]> =>
  (await duet.admin('GET', `${pathOf(id)}/prices`)).body.data

describe('models of the console', () => {
  let duet: Duet
  beforeAll(async () => {
    duet = await startDuet()
  })
  afterAll(() => duet.stop())

  test('are added to the catalog, and served', async () => {
    const { status, body } = await duet.admin('POST', '/api/models', {
      ...{ id: ADDED, name: 'Swift 2', description: 'Quick.', price: { input: '0.25', output: 2 } },
      ...{ context_length: 200_000, max_output_tokens: 4_000, images: 'reject', reasoning: true },
    })
    expect(status).toBe(201)
    expect(body).toMatchObject({
      ...{ id: ADDED, name: 'Swift 2', origin: 'console', enabled: true, overrides: false, shadows: false },
      price: { input: '0.25', output: '2.00', cache_read: '0.25', cache_write: '0.25', version: 1 },
      ...{ context_length: 200_000, max_output_tokens: 4_000, images: 'reject', reasoning: true },
      last_day: { requests: 0, errors: 0 },
    })
    expect((await chat(duet, ADDED)).status).toBe(200)
    expect((await modelOf(duet, ADDED)).last_day).toEqual({ requests: 1, errors: 0 })
  })

  test('survive a restart', async () => {
    await duet.stop()
    duet = await duet.restart()
    expect(await modelOf(duet, ADDED)).toMatchObject({ name: 'Swift 2', origin: 'console', price: { version: 1 } })
    expect((await chat(duet, ADDED)).status).toBe(200)
  })

  test('may be switched off: then they are not listed, not served, and still there', async () => {
    for (const id of [ADDED, BUILTIN]) {
      const { body } = await duet.admin('PATCH', pathOf(id), { enabled: false })
      expect(body).toMatchObject({ enabled: false, origin: 'console' })
      expect(await listed(duet)).not.toContain(id)
      expectError(await chat(duet, id), { status: 503, code: 'model_not_found' })
      await duet.admin('PATCH', pathOf(id), { enabled: null })
      expect((await chat(duet, id)).status).toBe(200)
    }
    expect(await modelOf(duet, BUILTIN)).toMatchObject({ origin: 'builtin', overrides: false })
  })

  test('are removed', async () => {
    expect((await duet.admin('DELETE', pathOf(ADDED))).status).toBe(204)
    expect(await modelOf(duet, ADDED)).toBeUndefined()
    expectError(await chat(duet, ADDED), { status: 503, code: 'model_not_found' })
    expect((await duet.admin('DELETE', pathOf(ADDED))).status).toBe(404)
    expect((await duet.admin('PATCH', pathOf(ADDED), { name: 'x' })).status).toBe(404)
  })

  test('say everything that is wrong with them at once', async () => {
    const faulty = { id: 'swift', price: { input: -1 }, images: 'maybe', nmae: 'x' }
    const { status, body } = await duet.admin('POST', '/api/models', faulty)
    expect([status, body.error.code, body.error.param]).toEqual([422, 'invalid_field', 'id'])
    for (const fault of [
      'id: must have the form <vendor>/<model>',
      'price.input: ',
      'price.output: ',
      'images: ',
      'nmae: unknown key',
    ])
      expect(body.error.message).toContain(fault)
    expect((await duet.admin('POST', '/api/models', {})).body.error).toMatchObject({ param: 'id' })
    expect((await duet.admin('POST', '/api/models', [])).status).toBe(422)
  })
})

describe('a built-in model', () => {
  let duet: Duet
  beforeAll(async () => {
    duet = await startDuet()
  })
  afterAll(() => duet.stop())

  test('is changed where the console says so, stays as it is elsewhere, and can be brought back', async () => {
    const before = await modelOf(duet, BUILTIN)
    expect(before).toMatchObject({ origin: 'builtin', overrides: false, settings: null })
    const { body } = await duet.admin('PATCH', pathOf(BUILTIN), { name: 'Ours', max_output_tokens: 1_000 })
    expect(body).toEqual({
      ...before,
      ...{ name: 'Ours', max_output_tokens: 1_000, origin: 'console', overrides: true },
      settings: { name: 'Ours', max_output_tokens: 1_000 },
    })
    expect((await duet.admin('DELETE', pathOf(BUILTIN))).status).toBe(204)
    expect(await modelOf(duet, BUILTIN)).toEqual(before)
  })

  test('cannot be removed, and not be added twice', async () => {
    const removed = await duet.admin('DELETE', pathOf(BUILTIN))
    expect([removed.status, removed.body.error.code]).toEqual([409, 'read_only'])
    expect((await duet.admin('POST', '/api/models', { id: BUILTIN, name: 'Ours' })).status).toBe(201)
    const again = await duet.admin('POST', '/api/models', { id: BUILTIN, name: 'Theirs' })
    expect([again.status, again.body.error.code]).toEqual([409, 'conflict'])
    await duet.admin('DELETE', pathOf(BUILTIN))
  })

  test('keeps every price it has had, and charges with the one in force', async () => {
    expect(await pricesOf(duet, BUILTIN)).toMatchObject([{ input: '2.00', output: '8.00', version: 1 }])
    await duet.admin('PATCH', pathOf(BUILTIN), { price: { input: 1, output: 1_000 } })
    const { body } = await duet.admin('PATCH', pathOf(BUILTIN), { name: 'Ours' })
    expect(body.price).toMatchObject({ output: '1000.00', version: 2 })

    const answer = await chat(duet, BUILTIN, { max_tokens: 10 })
    const { receipt } = (await duet.admin('GET', `/api/usage/${answer.headers.get('x-request-id')}`)).body
    expect(receipt.price).toMatchObject({ output: '1000.00', version: 2 })

    await duet.admin('DELETE', pathOf(BUILTIN))
    const versions = await pricesOf(duet, BUILTIN)
    expect(versions.map(({ version, output }) => [version, output])).toEqual([
      [3, '8.00'],
      [2, '1000.00'],
      [1, '8.00'],
    ])
    const times = versions.map(({ since }) => Date.parse(since))
    expect(times).toEqual(times.toSorted((a, b) => b - a))
    expect((await duet.admin('GET', `${pathOf('no/where')}/prices`)).status).toBe(404)
  })
})

test('members see the models that are on, and nothing of who serves them', async () => {
  const duet = await startDuet()
  const member = await inviteMember(duet, 'mia')
  await duet.admin('PATCH', pathOf(BUILTIN), { enabled: false })
  await duet.admin('PATCH', pathOf('openai/gpt-5.2'), { name: 'Ours' })
  await chat(duet, 'openai/gpt-5.2')
  const { body } = await member.call('GET', '/api/models')
  expect(body.data.map(({ id }: { id: string }) => id)).not.toContain(BUILTIN)
  expect(body.data[0]).toMatchObject({ name: 'Ours', channels: [], settings: null, last_day: { requests: 0 } })
  expect((await member.call('GET', `${pathOf(BUILTIN)}/prices`)).status).toBe(200)
  for (const [method, path, given] of [
    ['GET', '/api/channels'],
    ['POST', '/api/models', { id: 'a/b' }],
    ['PATCH', pathOf(BUILTIN), { name: 'x' }],
    ['DELETE', pathOf(BUILTIN)],
    ['POST', '/api/config/reload', {}],
    ['POST', '/api/translations', {}],
  ] as const)
    expect((await member.call(method, path, given)).status).toBe(403)
  await duet.stop()
})
