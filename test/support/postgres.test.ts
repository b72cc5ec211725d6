import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { SQL } from 'bun'
import { createDatabase, dropDatabases, type PostgresServer, startPostgres } from './postgres.ts'

let server: PostgresServer

beforeAll(async () => {
  server = await startPostgres()
})

afterAll(() => server.stop())

/** One connection that is never opened again by itself. */
const connect = (url: string) => new SQL(url, { max: 1 })

async function ask(url: string, query: string): Promise<readonly unknown[][]> {
  const sql = connect(url)
  try {
    return await sql.unsafe(query).values()
  } finally {
    await sql.close()
  }
}

describe('a database of a test', () => {
  test('is on a PostgreSQL that Duet supports', async () => {
    const [row] = await ask(server.url, 'SHOW server_version_num')
    expect(Number(row?.[0])).toBeGreaterThanOrEqual(150_000)
  })

  test('is empty, and belongs to somebody who may do nothing else on the server', async () => {
    const url = await server.newDatabase()
    expect(await ask(url, `SELECT 1 FROM pg_tables WHERE schemaname = 'public'`)).toEqual([])
    expect(await ask(url, `CREATE TABLE mine (id TEXT)`)).toEqual([])
    expect(await ask(url, 'SELECT rolsuper, rolcreatedb FROM pg_roles WHERE rolname = current_user')).toEqual([
      [false, false],
    ])
  })

  test('has nothing of another one', async () => {
    const [one, other] = [await server.newDatabase(), await server.newDatabase()]
    await ask(one, 'CREATE TABLE mine (id TEXT)')
    await expect(ask(other, 'SELECT * FROM mine')).rejects.toThrow('relation "mine" does not exist')
  })

  test('asks for the password', async () => {
    const url = new URL(await server.newDatabase())
    url.password = 'wrong'
    await expect(ask(url.href, 'SELECT 1')).rejects.toThrow('password authentication failed')
  })

  test('sorts as people do where nobody says otherwise, so that what relies on the order of bytes is found', async () => {
    const url = await server.newDatabase()
    const words = `SELECT word FROM (VALUES ('b'), ('B'), ('a'), ('C')) AS words (word) ORDER BY word`
    expect(await ask(url, words)).toEqual([['a'], ['b'], ['B'], ['C']])
    expect(await ask(url, `${words} COLLATE "C"`)).toEqual([['B'], ['C'], ['a'], ['b']])
  })

  test('is dropped with whoever is connected to it', async () => {
    const url = await createDatabase(server.url)
    const sql = connect(url)
    await sql`SELECT 1`
    await dropDatabases(server.url, [url])
    await expect(ask(url, 'SELECT 1')).rejects.toThrow('does not exist')
    await sql.close()
  })
})

describe('a server of a test', () => {
  test('answers nothing while it is frozen, and everything when it is thawed', async () => {
    const sql = connect(await server.newDatabase())
    await sql`CREATE TABLE mine (id TEXT)`
    server.freeze()
    const frozen = Promise.all([sql`INSERT INTO mine VALUES ('a')`, ask(server.url, 'SELECT 1')])
    expect(await Promise.race([frozen, Bun.sleep(300).then(() => 'nothing')])).toBe('nothing')
    server.thaw()
    await frozen
    expect(await sql`SELECT id FROM mine`.values()).toEqual([['a']])
    await sql.close()
  })

  for (const how of ['fast', 'immediate'] as const) {
    test(`comes back at the same address after a restart (${how}), with everything that was committed`, async () => {
      const url = await server.newDatabase()
      const { pid } = server
      await ask(url, `CREATE TABLE mine AS SELECT 'a' AS id`)
      await server.restart(how)
      expect(server.pid).not.toBe(pid)
      expect(await ask(url, 'SELECT id FROM mine')).toEqual([['a']])
    })
  }

  test('is restarted when it was frozen', async () => {
    server.freeze()
    await server.restart('fast')
    expect(await ask(server.url, 'SELECT 1')).toEqual([[1]])
  })

  test('is gone when it is killed, and back after a restart, with everything that was committed', async () => {
    const url = await server.newDatabase()
    await ask(url, `CREATE TABLE mine AS SELECT 'a' AS id`)
    await server.kill()
    await expect(ask(url, 'SELECT 1')).rejects.toThrow()
    await server.restart('immediate')
    expect(await ask(url, 'SELECT id FROM mine')).toEqual([['a']])
    expect(server.log()).toContain('database system was not properly shut down')
  })

  test('drops every connection, and takes new ones', async () => {
    const url = await server.newDatabase()
    const sql = connect(url)
    await sql`SELECT 1`
    const sleep = sql`SELECT pg_sleep(60)`.execute()
    const underway = `SELECT 1 FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60)%' AND datname <> 'postgres'`
    while ((await ask(server.url, underway)).length === 0);
    await server.dropConnections()
    await expect(sleep).rejects.toThrow()
    expect(await ask(url, 'SELECT 1')).toEqual([[1]])
    await sql.close()
  })

  test('takes other settings, and writes to the disk when it is told to', async () => {
    const other = await startPostgres({ fsync: true, settings: { max_connections: '17' } })
    expect(await ask(other.url, 'SHOW fsync')).toEqual([['on']])
    expect(await ask(other.url, 'SHOW max_connections')).toEqual([['17']])
    await other.stop()
  })

  for (const state of ['running', 'frozen']) {
    test(`is gone with its folder when the process that started it is killed, ${state} as it is`, async () => {
      const script = `
        import { startPostgres } from ${JSON.stringify(join(import.meta.dir, 'postgres.ts'))}
        import { SQL } from 'bun'
        const server = await startPostgres()
        const [{ data_directory }] = await new SQL(server.url)\`SHOW data_directory\`
        if (${state === 'frozen'}) server.freeze()
        console.log(JSON.stringify({ pid: server.pid, data: data_directory }))
        setInterval(() => {}, 1000)`
      const starter = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe' })
      const { value } = await starter.stdout.getReader().read()
      const { pid, data } = JSON.parse(new TextDecoder().decode(value))
      expect([existsSync(`/proc/${pid}`), existsSync(data)]).toEqual([true, true])
      starter.kill('SIGKILL')
      while (existsSync(data)) await Bun.sleep(20)
      expect(existsSync(`/proc/${pid}`)).toBe(false)
    })
  }
})
