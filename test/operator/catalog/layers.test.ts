import { afterAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Duet, startDuet } from '../../support/duet.ts'
import { configFor } from '../../support/upstream.ts'
import { eventually } from '../../support/wire.ts'
import { addAcme, channelOf, chat, FIRST_KEY, fickleUpstream, MODEL, modelOf, pathOf } from './stage.ts'

const upstream = fickleUpstream()
afterAll(() => upstream.stop())

const writeFile = (duet: Duet, config: string) => writeFileSync(join(duet.folder, 'duet.yaml'), config)

const readOnly = async (calls: readonly Promise<{ status: number; body: { error?: { code: string } } }>[]) => {
  for (const { status, body } of await Promise.all(calls))
    expect([status, body.error?.code]).toEqual([409, 'read_only'])
}

describe('what duet.yaml defines', () => {
  test('is read-only, but can be paused and tested', async () => {
    const duet = await startDuet({ config: configFor(upstream.base, 'chat') })
    expect(await modelOf(duet)).toMatchObject({ origin: 'file', overrides: false, shadows: false, settings: null })
    const channel = await channelOf(duet, 'acme-main')
    expect(channel).toMatchObject({ origin: 'file', settings: null, keys: [{ hint: '…6789', paused: false }] })

    await readOnly([
      duet.admin('POST', '/api/models', { id: MODEL }),
      duet.admin('PATCH', pathOf(MODEL), { name: 'x' }),
      duet.admin('DELETE', pathOf(MODEL)),
      duet.admin('POST', '/api/channels', { name: 'acme-main', vendor: 'ollama', models: [MODEL] }),
      duet.admin('PATCH', '/api/channels/acme-main', { weight: 2 }),
      duet.admin('DELETE', '/api/channels/acme-main'),
      duet.admin('POST', '/api/channels/acme-main/keys', { api_key: FIRST_KEY }),
      duet.admin('DELETE', `/api/channels/acme-main/keys/${channel.keys[0].id}`),
    ])

    const paused = await duet.admin('PUT', `/api/channels/acme-main/keys/${channel.keys[0].id}/paused`, {
      paused: true,
    })
    expect(paused.body.keys[0].paused).toBe(true)
    expect((await chat(duet)).status).toBe(503)
    expect((await duet.admin('POST', '/api/channels/acme-main/test', {})).body.ok).toBe(true)
    await duet.stop()
  })

  test('is joined by what the console adds', async () => {
    const duet = await startDuet({ config: configFor(upstream.base, 'chat') })
    await duet.admin('POST', '/api/models', { id: 'acme/added', price: { input: 1, output: 1 } })
    const settings = {
      protocol: 'chat',
      base_url: upstream.base,
      models: { 'acme/added': 'added-large', [MODEL]: 'two' },
    }
    expect((await duet.admin('POST', '/api/channels', { name: 'more', ...settings })).status).toBe(201)
    expect((await chat(duet, 'acme/added')).status).toBe(200)
    expect((await modelOf(duet)).channels).toEqual(['acme-main', 'more'])
    // The file says which models there are, so that built-in ones are not among them.
    expect((await duet.admin('PATCH', pathOf('openai/gpt-4.1'), { name: 'x' })).status).toBe(404)
    await duet.stop()
  })

  test('goes before what the console defines, and says so; without the file it is there again', async () => {
    const duet = await startDuet({ config: 'aliases: { swift: openai/gpt-4.1 }\n' })
    await addAcme(duet, upstream.base, { name: 'acme-main' })
    writeFile(duet, configFor(upstream.base, 'chat'))
    expect((await duet.admin('POST', '/api/config/reload')).body).toEqual({ models: 1, channels: 1 })
    expect(await modelOf(duet)).toMatchObject({ origin: 'file', shadows: true, name: 'Swift 2' })
    expect(await channelOf(duet, 'acme-main')).toMatchObject({
      origin: 'file',
      shadows: true,
      keys: [{ hint: '…6789' }],
    })
    expect(await eventually(duet.output, text => text.includes('hides what the console defines'))).toContain(
      `"models":["${MODEL}"],"channels":["acme-main"]`,
    )
    await readOnly([duet.admin('PATCH', pathOf(MODEL), { name: 'x' }), duet.admin('DELETE', '/api/channels/acme-main')])

    writeFile(duet, 'aliases: {}\n')
    await duet.admin('POST', '/api/config/reload')
    expect(await modelOf(duet)).toMatchObject({ origin: 'console', name: 'swift-2' })
    expect(await channelOf(duet, 'acme-main')).toMatchObject({ origin: 'console', keys: [{ hint: '…eOne' }] })
    await duet.stop()
  })

  test('may take away what the console relies on: what is left still serves, and can be mended', async () => {
    const duet = await startDuet({ config: 'aliases: {}\n' })
    await addAcme(duet, upstream.base, { models: [MODEL, 'openai/gpt-4.1'] })
    writeFile(duet, 'models: [{ id: acme/other, price: { input: 1, output: 1 } }]\n')
    await duet.stop()
    const later = await startDuet({ folder: duet.folder })
    expect((await channelOf(later)).models).toEqual({ [MODEL]: MODEL })
    expect(await eventually(later.output, text => text.includes('does not fit'))).toContain(
      'channels.acme.models: there is no model openai/gpt-4.1',
    )
    expect((await chat(later)).status).toBe(200)
    expect((await later.admin('PATCH', '/api/channels/acme', { weight: 2 })).status).toBe(200)
    const worse = await later.admin('PATCH', '/api/channels/acme', { models: [MODEL, 'openai/gpt-5.2'] })
    expect(worse.body.error.message).toBe('models: there is no model openai/gpt-5.2')
    await later.stop()
  })

  test('an alias of the file is no name for a model', async () => {
    const duet = await startDuet({ config: 'aliases: { acme/fast: openai/gpt-4.1 }\n' })
    const { body } = await duet.admin('POST', '/api/models', { id: 'acme/fast' })
    expect(body.error.message).toBe('id: is the name of an alias')
    await duet.stop()
  })
})

describe('reading the file again', () => {
  test('is refused with every fault, and the last good one stays', async () => {
    const duet = await startDuet({ config: configFor(upstream.base, 'chat') })
    writeFile(duet, 'modles: []\nchannels: [{ name: a b }]\n')
    const { status, body } = await duet.admin('POST', '/api/config/reload')
    expect([status, body.error.code]).toEqual([422, 'invalid_config'])
    for (const fault of ['modles: unknown key', 'channels[0].name: ', 'channels[0].models: is required'])
      expect(body.error.message).toContain(fault)
    expect((await chat(duet)).status).toBe(200)
    await duet.stop()
  })

  test('on SIGHUP keeps what the console defines', async () => {
    const duet = await startDuet({ config: 'aliases: { one: openai/gpt-4.1 }\n' })
    await addAcme(duet, upstream.base)
    writeFile(duet, `aliases: { one: openai/gpt-5.2 }\n`)
    process.kill(duet.pid, 'SIGHUP')
    await eventually(duet.output, text => text.includes('configuration read again'))
    expect((await chat(duet)).status).toBe(200)
    await duet.stop()
  })
})

test('a channel made from a variable is read-only, and serves models that the console adds for its vendor', async () => {
  const duet = await startDuet({ env: { OPENAI_API_KEY: 'some-key-of-a-vendor' } })
  expect(await channelOf(duet, 'openai')).toMatchObject({ origin: 'environment', keys: [{ hint: '…ndor' }] })
  await readOnly([duet.admin('PATCH', '/api/channels/openai', { weight: 2 })])
  await duet.admin('POST', '/api/models', { id: 'openai/gpt-next', price: { input: 1, output: 1 } })
  expect((await channelOf(duet, 'openai')).models['openai/gpt-next']).toBe('gpt-next')
  // A key of the environment never goes to an address that somebody gives in the console.
  const borrowed = await duet.admin('POST', '/api/channels', { name: 'b', vendor: 'openai', base_url: upstream.base })
  expect([borrowed.status, borrowed.body.error.message]).toEqual([422, 'api_key: is required'])
  await duet.stop()
})
