import { describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig } from '../../src/config/config.ts'
import { ConfigError } from '../../src/config/faults.ts'
import { type Duet, failToStart, newFolder, startDuet } from '../support/duet.ts'
import { CHAT, MESSAGES, post, send, user } from '../support/http.ts'
import { logged } from '../support/log.ts'
import { configFor, scriptUpstream } from '../support/upstream.ts'

const ids = async (duet: Duet): Promise<string[]> =>
  (await send(duet, '/v1/models')).body.data.map(({ id }: { id: string }) => id)

describe('duet.yaml', () => {
  test('names the models, the upstream, its credential and the name it knows the model by', async () => {
    const upstream = scriptUpstream(() =>
      Response.json({
        id: 'x',
        choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
      }),
    )
    const duet = await startDuet({ config: configFor(upstream.base, 'chat') })
    expect(await ids(duet)).toEqual(['acme/swift-2'])
    const answer = await post(duet, CHAT, { model: 'acme/swift-2', messages: user('Hello') })
    expect(answer.body.model).toBe('acme/swift-2')
    expect(answer.headers.get('x-duet-sandbox')).toBeNull()
    const [visit] = upstream.requests
    expect(visit?.path).toBe('/v1/chat/completions')
    expect(visit?.body.model).toBe('swift-2-large')
    expect(visit?.headers.get('authorization')).toBe('Bearer vendor-key-0123456789')
    await duet.stop()
    await upstream.stop()
  })

  test('a messages channel gets its credential and version in the headers of that protocol', async () => {
    const upstream = scriptUpstream(() =>
      Response.json({
        id: 'x',
        type: 'message',
        role: 'assistant',
        content: [{ type: 'text', text: 'Hi' }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 3, output_tokens: 1 },
      }),
    )
    const duet = await startDuet({ config: configFor(upstream.base, 'messages') })
    const headers = { 'anthropic-version': '2026-10-21', 'anthropic-beta': 'some-beta' }
    await post(duet, MESSAGES, { model: 'acme/swift-2', max_tokens: 5, messages: user('Hello') }, { headers })
    await post(duet, CHAT, { model: 'acme/swift-2', messages: user('Hello') })
    const [like, unlike] = upstream.requests
    expect(like?.path).toBe('/v1/messages')
    expect(like?.headers.get('x-api-key')).toBe('vendor-key-0123456789')
    expect(like?.headers.get('anthropic-version')).toBe('2026-10-21')
    expect(like?.headers.get('anthropic-beta')).toBe('some-beta')
    expect(unlike?.headers.get('anthropic-version')).toBe('2023-06-01')
    await duet.stop()
    await upstream.stop()
  })

  test('takes values from the environment', async () => {
    const config = configFor('https://api.acme.example/v1', 'chat').replace(
      'vendor-key-0123456789',
      '$' + '{ACME_API_KEY}',
    )
    const { output } = await failToStart({ config })
    expect(output).toContain('channels[0].api_key: the environment variable ACME_API_KEY is not set')
    const duet = await startDuet({ config, env: { ACME_API_KEY: 'secret-of-acme' } })
    expect(await ids(duet)).toEqual(['acme/swift-2'])
    expect(duet.output()).not.toContain('secret-of-acme')
    await duet.stop()
  })

  test('all faults are listed, each with its path', async () => {
    const { code, output } = await failToStart({
      config: `
modles: []
models:
  - id: swift
    price: { input: -1 }
    images: maybe
channels:
  - name: a b
    protocol: grpc
    base_url: ftp://x
    timeout: { connect: soon }
    wieght: 2
  - name: lost
    vendor: nobody
    models: [no/where]
aliases: { fast: no/where }
`,
    })
    expect(code).toBe(1)
    for (const path of [
      'modles: unknown key',
      'models[0].id: must have the form <vendor>/<model>',
      'models[0].price.input',
      'models[0].price.output',
      'models[0].images',
      'channels[0].name',
      'channels[0].protocol',
      'channels[0].base_url: must be an http or https address',
      'channels[0].timeout.connect: must be a duration',
      'channels[0].wieght: unknown key',
      'channels[0].models: is required',
      'channels[1].vendor: must be one of',
      'channels[1].models: there is no model no/where',
      'aliases.fast: there is no model no/where',
    ]) {
      expect(output).toContain(path)
    }
  })

  test('numbers and switches may come from the environment, secrets that look like numbers stay text', async () => {
    const config = [
      'models:',
      '  - { id: a/b, price: { input: "$(PRICE)", output: 1 }, max_output_tokens: "$(MAX)", reasoning: "$(THINKS)" }',
      'channels:',
      '  - { name: c, protocol: chat, base_url: "http://127.0.0.1:9", api_key: "$(KEY)", models: [a/b], priority: "$(PRIO:-3)" }',
    ]
      .join('\n')
      .replaceAll('$(', '$\u007b')
      .replaceAll(')"', '}"')
    const duet = await startDuet({ config, env: { PRICE: '0.25', MAX: '100', THINKS: 'true', KEY: '12345678' } })
    const { body: models } = await duet.admin('GET', '/api/models')
    expect(models.data[0]).toMatchObject({ price: { input: '0.25' }, max_output_tokens: 100, reasoning: true })
    expect((await duet.admin('GET', '/api/channels')).body.data[0].priority).toBe(3)
    await duet.stop()
  })

  test('what cannot work is a fault', async () => {
    const { output } = await failToStart({
      config: `
models: [{ id: a/b, price: { input: 0.0000000001, output: 1 } }]
channels: [{ name: c, protocol: chat, base_url: "http://127.0.0.1:9/v1?api-version=1", models: [a/b] }]
`,
    })
    expect(output).toContain('models[0].price.input: is too small to be counted')
    expect(output).toContain('channels[0].base_url: must not have a query')
    const shadowed = await failToStart({ config: 'aliases: { openai/gpt-4.1: openai/gpt-5.2 }\n' })
    expect(shadowed.output).toContain('aliases.openai/gpt-4.1: is the name of a model')
  })

  test('faults between the parts are listed too', async () => {
    const { output } = await failToStart({
      config: `
channels:
  - { name: a, vendor: acme, models: [openai/gpt-4.1] }
  - { name: a, base_url: http://127.0.0.1:1, models: [nobody/nothing] }
  - { name: b, vendor: openai }
aliases: { fast: nobody/nothing }
`,
    })
    for (const fault of [
      'channels[0].vendor: must be one of openai, anthropic, openrouter, deepseek',
      'channels[1].protocol: is required (or name a vendor)',
      'channels[1].models: there is no model nobody/nothing',
      'channels[2].api_key: is required (or set OPENAI_API_KEY)',
      'channels[1].name: a is there twice',
      'aliases.fast: there is no model nobody/nothing',
    ]) {
      expect(output).toContain(fault)
    }
  })

  test('a file that is not YAML, or not there, is a fault', async () => {
    expect((await failToStart({ config: 'models: [' })).output).toContain('not valid YAML')
    expect((await failToStart({ env: { DUET_CONFIG: '/no/such/file.yaml' } })).output).toContain('there is no file')
  })

  test('a preset knows address, protocol and the models of its vendor', async () => {
    const duet = await startDuet({
      config:
        'channels:\n  - { name: a, vendor: anthropic, api_key: some-vendor-key }\n  - { name: o, vendor: ollama, models: { openai/gpt-4.1: llama3 } }\n',
    })
    const { body } = await duet.admin('GET', '/api/channels')
    expect(body.data).toMatchObject([
      {
        name: 'a',
        protocol: 'messages',
        base_url: 'https://api.anthropic.com/v1',
        models: { 'anthropic/claude-opus-4.6': 'claude-opus-4-6' },
      },
      { name: 'o', protocol: 'chat', base_url: 'http://127.0.0.1:11434/v1', models: { 'openai/gpt-4.1': 'llama3' } },
    ])
    await duet.stop()
  })

  test('aliases map other names; the answer names the model they stand for', async () => {
    const duet = await startDuet({ config: 'aliases: { claude-x: anthropic/claude-haiku-4.5 }\n' })
    const answer = await post(duet, MESSAGES, { model: 'claude-x', max_tokens: 9, messages: user('Hi') })
    expect(answer.body.model).toBe('anthropic/claude-haiku-4.5')
    expect((await post(duet, MESSAGES, { model: 'claude-y', max_tokens: 9, messages: user('Hi') })).status).toBe(503)
    await duet.stop()
  })

  test('channels of other groups do not exist for an account', async () => {
    const config =
      'channels:\n  - { name: v, vendor: openai, api_key: some-key, groups: [vip] }\n  - { name: d, vendor: deepseek, api_key: some-key }\n'
    const duet = await startDuet({ config })
    expect(await ids(duet)).toEqual(['deepseek/deepseek-chat', 'deepseek/deepseek-reasoner'])
    const { body: account } = await duet.admin('POST', '/api/accounts', { name: 'vips', group: 'vip', balance: '1' })
    const { body: key } = await duet.admin('POST', '/api/keys', { account: account.id, name: 'k' })
    const listed = await send(duet, '/v1/models', { key: key.key })
    expect(listed.body.data.map(({ owned_by }: { owned_by: string }) => owned_by)).toEqual([
      'openai',
      'openai',
      'openai',
    ])
    const refused = await post(duet, CHAT, { model: 'deepseek/deepseek-chat', messages: user('Hi') }, { key: key.key })
    expect(refused.body.error.message).toStartWith(
      'No available channel for model deepseek/deepseek-chat under group vip (distributor)',
    )
    await duet.stop()
  })
})

describe('SIGHUP', () => {
  const withAlias = (alias: string) => `aliases: { ${alias}: openai/gpt-4.1 }\n`

  test('reads the file again; a faulty one is refused whole and the last good one stays', async () => {
    const duet = await startDuet({ config: withAlias('one') })
    const status = async (model: string) => (await post(duet, CHAT, { model, messages: user('Hi') })).status
    expect([await status('one'), await status('two')]).toEqual([200, 503])

    await reload(duet, withAlias('two'), 'configuration read again')
    expect([await status('one'), await status('two')]).toEqual([503, 200])

    await reload(duet, `${withAlias('three')}nonsense: true\n`, 'the last good configuration stays in use')
    const refused = 'the configuration was refused, and the last good configuration stays in use'
    expect(logged(duet, refused)).toMatchObject([{ level: 'error', faults: ['nonsense: unknown key'] }])
    expect(duet.output()).not.toContain('duet:')
    expect([await status('two'), await status('three')]).toEqual([200, 503])
    await duet.stop()
  })
})

describe('the store', () => {
  const DATABASE = 'postgres://duet:password-of-duet@db.example:5432/duet'
  const SECRET = 'secret-of-all-replicas'
  const SHARED = { DUET_DATABASE_URL: DATABASE, DUET_SECRET: SECRET }

  const faultsOf = (env: Readonly<Record<string, string>>): readonly string[] => {
    try {
      readConfig(env)
      return []
    } catch (error) {
      return error instanceof ConfigError ? error.faults : [String(error)]
    }
  }

  test('is the embedded one, of one process, where nothing else is said', () => {
    expect(readConfig({})).toMatchObject({ databaseUrl: undefined, workers: 1, retentionMonths: undefined })
  })

  test('is PostgreSQL where its address is given', () => {
    for (const url of [DATABASE, DATABASE.replace('postgres:', 'postgresql:')]) {
      expect(readConfig({ ...SHARED, DUET_DATABASE_URL: url }).databaseUrl).toBe(url)
    }
    expect(readConfig({ ...SHARED, DUET_WORKERS: '4', DUET_RETENTION_MONTHS: '18' })).toMatchObject({
      workers: 4,
      retentionMonths: 18,
    })
  })

  test('has an address of PostgreSQL, of which a fault repeats nothing', () => {
    const broken = ['mysql://u:password-of-duet@h/d', 'password-of-duet', 'postgres:password-of-duet', 'postgres://']
    for (const url of broken) {
      const faults = faultsOf({ ...SHARED, DUET_DATABASE_URL: url })
      expect(faults).toHaveLength(1)
      expect(faults[0]).toStartWith('DUET_DATABASE_URL: must be an address such as postgres://')
      expect(faults[0]).not.toContain('password-of-duet')
    }
  })

  test('that is shared needs a secret that is shared', () => {
    expect(faultsOf({ DUET_DATABASE_URL: DATABASE })).toEqual([
      'DUET_SECRET: is required with DUET_DATABASE_URL, the same for all replicas',
    ])
  })

  test('that is embedded belongs to one process, and forgets nothing', () => {
    expect(faultsOf({ DUET_WORKERS: '2', DUET_RETENTION_MONTHS: '3' })).toEqual([
      'DUET_WORKERS: needs DUET_DATABASE_URL: one process owns the embedded database',
      'DUET_RETENTION_MONTHS: needs DUET_DATABASE_URL: the embedded database forgets nothing',
    ])
  })

  test('has numbers within their limits', () => {
    for (const value of ['0', '65', '1.5', 'many', '-1']) {
      expect(faultsOf({ ...SHARED, DUET_WORKERS: value })).toEqual([
        `DUET_WORKERS: must be a whole number from 1 to 64, not "${value}"`,
      ])
    }
    expect(faultsOf({ ...SHARED, DUET_RETENTION_MONTHS: '0' })).toHaveLength(1)
  })

  test('and every other secret may be in a file', () => {
    const folder = newFolder()
    const file = (name: string, text: string) => {
      writeFileSync(join(folder, name), text)
      return join(folder, name)
    }
    const config = readConfig({
      DUET_DATABASE_URL_FILE: file('url', `${DATABASE}\n`),
      DUET_SECRET_FILE: file('secret', `${SECRET}\n`),
      DUET_ADMIN_TOKEN_FILE: file('token', 'token-of-the-operator'),
      DUET_BOOTSTRAP_KEY_FILE: file('key', '  sk-of-the-first-caller\n'),
    })
    expect(config).toMatchObject({ databaseUrl: DATABASE, secret: SECRET })
    expect(config).toMatchObject({ adminToken: 'token-of-the-operator', bootstrapKey: 'sk-of-the-first-caller' })
  })

  test('has no secret in a file that is missing, empty, short, or meant twice', () => {
    const folder = newFolder()
    writeFileSync(join(folder, 'empty'), '\n')
    writeFileSync(join(folder, 'short'), 'short')
    const faults = faultsOf({
      DUET_SECRET_FILE: join(folder, 'none'),
      DUET_ADMIN_TOKEN_FILE: join(folder, 'empty'),
      DUET_BOOTSTRAP_KEY_FILE: join(folder, 'short'),
      DUET_BOOTSTRAP_KEY: 'sk-of-the-first-caller',
    })
    expect(faults).toEqual([
      `DUET_ADMIN_TOKEN_FILE: ${join(folder, 'empty')} is empty`,
      `DUET_SECRET_FILE: ${join(folder, 'none')} cannot be read (ENOENT)`,
      'DUET_BOOTSTRAP_KEY_FILE: DUET_BOOTSTRAP_KEY is set too, and only one of them can be meant',
      'DUET_BOOTSTRAP_KEY: must have at least 16 characters',
    ])
  })

  test('that cannot do what was asked for stops the start, and no password is printed', async () => {
    const { code, output } = await failToStart({
      env: { DUET_DATABASE_URL: DATABASE, DUET_SECRET: '', DUET_WORKERS: '100' },
    })
    expect([code, output.includes('DUET_SECRET'), output.includes('DUET_WORKERS')]).toEqual([1, true, true])
    expect(output).not.toContain('password-of-duet')
  })
})

async function reload(duet: Duet, config: string, said: string): Promise<void> {
  writeFileSync(join(duet.folder, 'duet.yaml'), config)
  process.kill(duet.pid, 'SIGHUP')
  while (!duet.output().includes(said)) await Bun.sleep(5)
}
