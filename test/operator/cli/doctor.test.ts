import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { newDatabase } from '../../support/databases.ts'
import { type Duet, type JsonBody, newFolder, startDuet } from '../../support/duet.ts'
import { DATABASE_PASSWORD } from '../../support/postgres.ts'
import { configFor, scriptUpstream } from '../../support/upstream.ts'
import { protocolOf, vendorAnswer, vendorError } from '../../support/vendor.ts'
import { EMBEDDED, freePort, type RunOptions, run, shell, toward } from './run.ts'
import { lookInto, placeIn } from './tables.ts'

interface Diagnosis {
  readonly code: number
  readonly body: JsonBody
  /** The status of each check by its name. */
  readonly checks: Record<string, string>
  readonly messages: Record<string, string>
}

async function diagnose(options: RunOptions): Promise<Diagnosis> {
  const { code, out } = await run(['doctor', '--json'], options)
  const body = JSON.parse(out)
  const column = (field: string) => Object.fromEntries(body.checks.map((row: JsonBody) => [row.name, row[field]]))
  return { code, body, checks: column('status'), messages: column('message') }
}

const portOf = ({ url }: Duet) => new URL(url).port

describe('duet doctor, where everything is well', () => {
  let server: Duet
  beforeAll(async () => {
    server = await startDuet({ env: { DUET_ADMIN_TOKEN: '' } })
  })
  afterAll(() => server.stop())

  /** As for the server itself: its folder and its port, and nothing else said. */
  const here = () => ({ cwd: server.folder, env: { DUET_PORT: portOf(server) } })

  test('every check is green', async () => {
    const { code, body, checks } = await diagnose(here())
    expect(code).toBe(0)
    expect(body.ok).toBe(true)
    expect(checks).toEqual({
      configuration: 'ok',
      port: 'ok',
      server: 'ok',
      'admin token': 'ok',
      version: 'ok',
      clock: 'ok',
      database: 'ok',
      models: 'ok',
      'channel sandbox-chat': 'ok',
      'channel sandbox-messages': 'ok',
    })
  })

  test('people see a list, the base URL and what to paste', async () => {
    const { code, out, err } = await run(['doctor'], here())
    expect([code, err]).toEqual([0, ''])
    expect(out).toMatch(/^✓ server +Duet answers at http:/m)
    expect(out).not.toMatch(/^[!✗]/m)
    expect(out).toContain(`Base URL: ${server.base}\n`)
    expect(out).toContain(`  OPENAI_BASE_URL=${server.base} OPENAI_API_KEY=$DUET_KEY\n`)
    expect(out).toContain(`  ANTHROPIC_BASE_URL=${server.url} ANTHROPIC_AUTH_TOKEN=$DUET_KEY\n`)
    expect(out).not.toContain(server.key)
  })

  test('the curl lines work when pasted', async () => {
    const { body } = await diagnose(here())
    for (const [protocol, wanted] of [
      ['chat', '"object":"chat.completion"'],
      ['messages', '"type":"message"'],
    ] as const) {
      const { out } = await shell(`${body.samples[protocol]} -sS`, { env: { DUET_KEY: server.key } })
      expect(out).toContain(wanted)
    }
  })

  test('with --quiet prints nothing', async () => {
    expect(await run(['doctor', '--quiet'], here())).toEqual({ code: 0, out: '', err: '' })
  })

  test('the server may be elsewhere', async () => {
    const token = (await Bun.file(join(server.folder, 'data/admin-token')).text()).trim()
    const env = { DUET_URL: `${server.url}/v1/`, DUET_ADMIN_TOKEN: token }
    const { code, checks, body } = await diagnose({ env })
    expect(code).toBe(0)
    expect(checks.port).toBeUndefined()
    expect(body.base_url).toBe(server.base)
  })
})

describe('duet doctor, where something is wrong', () => {
  test('no server: red, and says how to start one', async () => {
    const port = freePort()
    const { code, out, err } = await run(['doctor'], { env: { DUET_PORT: port } })
    expect(code).toBe(3)
    expect(out).toMatch(/^✓ configuration/m)
    expect(out).toMatch(new RegExp(`^✓ port +127\\.0\\.0\\.1:${port} is free$`, 'm'))
    expect(out).toMatch(/^✗ server +no Duet answers at .*duet start/m)
    expect(out).toMatch(/^✓ database +.* is made by the first start$/m)
    expect(out).toMatch(/^✓ models +15 models/m)
    expect(err).toBe('duet: 1 check failed: server\n')
  })

  test('no server, and a database that was used: it is opened', async () => {
    const server = await startDuet({ env: EMBEDDED })
    await server.stop()
    const { checks, messages } = await diagnose({ cwd: server.folder, env: { DUET_PORT: freePort() } })
    expect(checks).toMatchObject({ server: 'failed', database: 'ok' })
    expect(messages.database).toContain('can be opened')
  })

  test('no server, and a database that is none', async () => {
    const folder = newFolder()
    writeFileSync(join(folder, 'duet.db'), 'not a database '.repeat(1000))
    const { checks, messages } = await diagnose({ env: { DUET_DATA: folder, DUET_PORT: freePort() } })
    expect(checks.database).toBe('failed')
    expect(messages.database).toContain('not a database')
  })

  test('a data folder that cannot be one', async () => {
    const file = join(newFolder(), 'a-file')
    writeFileSync(file, '')
    const env = { DUET_DATA: join(file, 'data'), DUET_PORT: freePort() }
    const { code, checks, messages } = await diagnose({ env })
    expect(code).toBe(3)
    expect([checks.database, messages.database]).toEqual(['failed', `${file} is not a folder`])
  })

  test('a database that a Duet elsewhere is using', async () => {
    const server = await startDuet({ env: EMBEDDED })
    const env = { DUET_DATA: join(server.folder, 'data'), DUET_PORT: freePort() }
    const { messages } = await diagnose({ env })
    expect(messages.database).toContain('another Duet is using')
    await server.stop()
  })

  test('a faulty duet.yaml: every fault is listed', async () => {
    const cwd = newFolder()
    writeFileSync(join(cwd, 'duet.yaml'), 'modles: []\nchannels:\n  - { name: a, protocol: smoke }\n')
    const { code, out } = await run(['doctor'], { cwd, env: { DUET_PORT: freePort() } })
    expect(code).toBe(3)
    expect(out).toMatch(/^✗ configuration +it has \d+ faults$/m)
    expect(out).toMatch(/^ {4}- modles: unknown key$/m)
    expect(out).toMatch(/^ {4}- channels\[0\]\.protocol: /m)
  })

  test('a faulty environment', async () => {
    const { code, checks, body } = await diagnose({ env: { DUET_DURABILITY: 'none', DUET_PORT: 'http' } })
    expect(code).toBe(3)
    expect(checks).toMatchObject({ configuration: 'failed', server: 'failed' })
    expect(body.checks[0].details).toHaveLength(2)
  })

  test('a port that something else has', async () => {
    const other = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('hello') })
    const { code, checks, messages } = await diagnose({ env: { DUET_PORT: String(other.port) } })
    expect(code).toBe(3)
    expect(checks).toMatchObject({ port: 'failed', server: 'failed' })
    expect(messages.port).toContain('something that is not Duet')
    await other.stop(true)
  })

  test('a token that is refused: says where it was looked for, and goes on', async () => {
    const server = await startDuet()
    const env = { ...toward(server), DUET_ADMIN_TOKEN: 'a-wrong-token-0123456789' }
    const { code, checks, messages } = await diagnose({ env })
    expect(code).toBe(3)
    expect(checks).toMatchObject({ server: 'ok', 'admin token': 'failed', clock: 'ok', database: 'warning' })
    expect(messages['admin token']).toContain('DUET_ADMIN_TOKEN')
    expect(messages['admin token']).not.toContain('a-wrong-token')
    await server.stop()
  })

  test('an upstream that fails, and models without price or channel', async () => {
    const upstream = scriptUpstream(visit =>
      protocolOf(visit) === 'chat' && visit.body.stream !== true
        ? Response.json(vendorError('chat', 'no'), { status: 401 })
        : vendorAnswer(visit),
    )
    const config = configFor(upstream.base, 'chat', {
      model: '  - { id: acme/unpriced }\n  - { id: acme/unserved, price: { input: 1, output: 1 } }\n',
    }).replace('acme/swift-2: swift-2-large }', 'acme/swift-2: swift-2-large, acme/unpriced: x }')
    const server = await startDuet({ config })
    const { code, checks, body } = await diagnose({ cwd: server.folder, env: toward(server) })
    expect(code).toBe(3)
    expect(checks).toMatchObject({ configuration: 'ok', models: 'failed', 'channel acme-main': 'failed' })
    const details = Object.fromEntries(body.checks.map((row: JsonBody) => [row.name, row.details]))
    expect(details.models).toEqual(['acme/unpriced: no price', 'acme/unserved: no channel'])
    expect(details['channel acme-main']).toHaveLength(2)
    expect(details['channel acme-main'][0]).toMatch(/^chat to chat, key \w+: upstream_auth_failed: /)
    await server.stop()
    await upstream.stop()
  })

  test('a model that no channel serves is a warning, and no failure', async () => {
    const upstream = scriptUpstream(vendorAnswer)
    const config = configFor(upstream.base, 'chat', {
      model: '  - { id: acme/unserved, price: { input: 1, output: 1 } }\n',
    })
    const server = await startDuet({ config })
    const { code, out } = await run(['doctor'], { cwd: server.folder, env: toward(server) })
    expect(code).toBe(0)
    expect(out).toMatch(/^! models +1 model cannot be called$\n^ {4}- acme\/unserved: no channel$/m)
    expect(out).toContain('"model":"acme/swift-2"')
    await server.stop()
    await upstream.stop()
  })

  test('a server of another version, or with another idea of the time', async () => {
    const server = await startDuet()
    const odd = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      async fetch(request) {
        const { pathname, search } = new URL(request.url)
        const answer = await fetch(server.url + pathname + search, { method: request.method, headers: request.headers })
        const text = (await answer.text()).replace(/(duet_build_info\{version=)"[^"]*"/, '$1"9.9.9"')
        const headers = { date: new Date(Date.now() - 3_600_000).toUTCString(), 'content-type': 'application/json' }
        return new Response(text, { status: answer.status, headers })
      },
    })
    const { code, checks, messages } = await diagnose({ env: { ...toward(server), DUET_URL: odd.url.origin } })
    expect(code).toBe(3)
    expect(checks).toMatchObject({ version: 'warning', clock: 'failed' })
    expect(messages.version).toContain('the server has 9.9.9')
    expect(messages.clock).toMatch(/^the server's clock is \d+ seconds behind/)
    await odd.stop(true)
    await server.stop()
  })
})

test('duet doctor leaves a stopped database as it was', async () => {
  const server = await startDuet({ env: EMBEDDED })
  await server.stop()
  const copy = newFolder()
  cpSync(join(server.folder, 'data'), copy, { recursive: true })
  const env = { DUET_PORT: freePort() }
  await run(['doctor'], { cwd: server.folder, env })
  const verified = await Promise.all(
    [copy, join(server.folder, 'data')].map(folder => run(['ledger', 'verify', '--json', '--data', folder])),
  )
  expect(verified[0]?.code).toBe(0)
  expect(verified[1]).toEqual(verified[0] ?? expect.anything())
})

describe('duet doctor, with PostgreSQL', () => {
  const DUET_SECRET = 'the-secret-of-these-replicas'
  const CHECKS = ['database', 'schema', 'database clock', 'connections', 'secret'] as const
  const about = (checks: Record<string, string>) => CHECKS.map(name => checks[name])

  test('looks at the database itself, while a server runs and without one', async () => {
    const DUET_DATABASE_URL = await newDatabase()
    const env = { DUET_DATABASE_URL, DUET_SECRET }
    const server = await startDuet({ env: { ...env, DUET_ADMIN_TOKEN: '' } })
    await server.admin('PUT', '/api/accounts/default/notice', { threshold: '5', url: 'http://127.0.0.1:9/hook' })
    const here = { cwd: server.folder, env: { ...env, DUET_PORT: portOf(server) } }
    const running = await diagnose(here)
    expect([running.code, about(running.checks)]).toEqual([0, ['ok', 'ok', 'ok', 'ok', 'ok']])
    expect(running.messages.database).toStartWith(`${placeIn(DUET_DATABASE_URL)} answers: PostgreSQL `)
    expect(running.messages.connections).toMatch(/^\d+ for everyone, \d+ in use; a replica has up to \d+: room for \d+/)
    await server.stop()

    const stopped = await diagnose(here)
    expect([stopped.code, stopped.checks.server]).toEqual([3, 'failed'])
    expect(about(stopped.checks)).toEqual(['ok', 'ok', 'ok', 'ok', 'ok'])
    expect(JSON.stringify([running, stopped])).not.toContain(DATABASE_PASSWORD)
  })

  test('one that no Duet has been started on lacks its tables, which is no failure', async () => {
    const env = { DUET_DATABASE_URL: await newDatabase(), DUET_SECRET, DUET_PORT: freePort() }
    const { checks, messages } = await diagnose({ env })
    expect(checks).toMatchObject({ database: 'ok', schema: 'warning' })
    expect(messages.schema).toMatch(/^\d+ migrations missing: .*duet migrate/)
  })

  test('one of a newer version, or with another secret, is red', async () => {
    const DUET_DATABASE_URL = await newDatabase()
    const server = await startDuet({ env: { DUET_DATABASE_URL, DUET_SECRET } })
    await server.admin('PUT', '/api/accounts/default/notice', { threshold: '5', url: 'http://127.0.0.1:9/hook' })
    await server.stop()
    const env = { DUET_DATABASE_URL, DUET_PORT: freePort() }
    const other = await diagnose({ env: { ...env, DUET_SECRET: 'not-the-secret-of-these' } })
    expect([other.code, other.checks.secret]).toEqual([3, 'failed'])
    const without = await diagnose({ env })
    expect(without.checks).toMatchObject({ configuration: 'failed', secret: 'failed' })

    const sql = lookInto(DUET_DATABASE_URL)
    await sql.unsafe(`INSERT INTO schema_version VALUES (999, 'the future', 1)`)
    await sql.close()
    const newer = await diagnose({ env: { ...env, DUET_SECRET } })
    expect([newer.code, newer.checks.schema]).toEqual([3, 'failed'])
    expect(newer.messages.schema).toContain('a newer version of Duet')
  })

  test('too few connections for a replica, and no answer at all, are red', async () => {
    const DUET_DATABASE_URL = await newDatabase()
    const name = new URL(DUET_DATABASE_URL).pathname.slice(1)
    const sql = lookInto(DUET_DATABASE_URL)
    await sql.unsafe(`ALTER DATABASE ${name} CONNECTION LIMIT 3`)
    await sql.close()
    const env = { DUET_SECRET, DUET_PORT: freePort() }
    const few = await diagnose({ env: { ...env, DUET_DATABASE_URL } })
    expect([few.code, few.checks.connections]).toEqual([3, 'failed'])

    const nobody = `postgres://duet:${DATABASE_PASSWORD}@127.0.0.1:${freePort()}/duet`
    const away = await diagnose({ env: { ...env, DUET_DATABASE_URL: nobody } })
    expect([away.code, away.checks.database]).toEqual([3, 'failed'])
    expect(away.messages.database).toContain('does not answer')
    expect(JSON.stringify(away)).not.toContain(DATABASE_PASSWORD)
  })
})
