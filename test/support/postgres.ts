import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SQL } from 'bun'
import { PostgresProcesses } from './postgres-processes.ts'
import { type Account, accountForPostgres, folderFor, programsFor } from './postgres-programs.ts'

/** A real PostgreSQL server on loopback, on a port and in a folder of its own. It is gone when this process is. */
export interface PostgresServer {
  /** As its superuser. */
  readonly url: string
  readonly pid: number
  /** Everything the server has logged so far. */
  readonly log: () => string
  /** The address of a new, empty database, for a user who owns it and is nobody special. */
  newDatabase(): Promise<string>
  /** Stops all its processes where they are: connections stay open, and nothing is answered. */
  freeze(): void
  thaw(): void
  /** `fast` rolls back what is under way and writes everything; `immediate` crashes, and recovers from the log. */
  restart(how: 'immediate' | 'fast'): Promise<void>
  /** Ends every connection of everyone. */
  dropConnections(): Promise<void>
  /** All its processes, without a word. `restart` starts it again. */
  kill(): Promise<void>
  stop(): Promise<void>
}

export interface PostgresOptions {
  /** Whether it survives a crash of the machine, as in production. Without, it survives only its own, and is faster. */
  readonly fsync?: boolean
  /** More of `postgresql.conf`. */
  readonly settings?: Readonly<Record<string, string>>
}

const USER = 'duet'

/** In every address, and asked for by the server: a test can look for it where no password may be. */
export const DATABASE_PASSWORD = 'database-password-of-the-tests'

const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  // Debian's place for it is not open to everyone.
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: '32MB',
}

const WITHOUT_FSYNC: Readonly<Record<string, string>> = {
  fsync: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_wal_size: '256MB',
  // It visits one database after the other, and the tests make hundreds that are soon dropped.
  autovacuum: 'off',
}

const DROP_CONNECTIONS = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`

export async function startPostgres({ fsync = false, settings = {} }: PostgresOptions = {}): Promise<PostgresServer> {
  const account = accountForPostgres()
  const folder = folderFor(account)
  const caretaker = startCaretaker(folder)
  try {
    const programs = programsFor(account, folder)
    await createCluster(programs, folder, account)
    const server = await PostgresProcesses.start({
      ...{ program: join(programs, 'postgres'), folder, account },
      settings: { ...SETTINGS, ...(fsync ? {} : WITHOUT_FSYNC), ...settings },
    })
    const url = `postgres://postgres:${DATABASE_PASSWORD}@127.0.0.1:${server.port}/postgres`
    await asSuperuser(url, [`CREATE ROLE ${USER} LOGIN PASSWORD '${DATABASE_PASSWORD}'`])
    return {
      url,
      get pid() {
        return server.pid
      },
      log: () => server.log(),
      newDatabase: () => createDatabase(url),
      freeze: () => server.freeze(),
      thaw: () => server.thaw(),
      async restart(how) {
        await server.end(how === 'fast' ? 'SIGINT' : 'SIGQUIT')
        await server.launch()
      },
      dropConnections: () => asSuperuser(url, [DROP_CONNECTIONS]),
      kill: () => server.kill(),
      async stop() {
        await server.end('SIGQUIT')
        await dismiss(caretaker)
      },
    }
  } catch (error) {
    await dismiss(caretaker)
    throw error
  }
}

/** On a server that anybody has started, of which this is the address. Empty, or a copy of another that nobody uses. */
export async function createDatabase(url: string, template = 'template0'): Promise<string> {
  const name = `duet_${randomBytes(8).toString('hex')}`
  // Copying its files is the faster way for a database that has next to nothing in it.
  await asSuperuser(url, [`CREATE DATABASE ${name} OWNER ${USER} TEMPLATE ${template} STRATEGY FILE_COPY`])
  return `postgres://${USER}:${DATABASE_PASSWORD}@${new URL(url).host}/${name}`
}

/** Whoever is still connected to one of them is thrown out. */
export async function dropDatabases(url: string, databases: readonly string[]): Promise<void> {
  const names = databases.map(database => new URL(database).pathname.slice(1))
  await asSuperuser(
    url,
    names.map(name => `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  )
}

async function asSuperuser(url: string, statements: readonly string[]): Promise<void> {
  const sql = new SQL(url, { max: 1 })
  try {
    for (const statement of statements) await sql.unsafe(statement)
  } finally {
    await sql.close()
  }
}

/**
 * Text is sorted as people sort it and not by its bytes, as on most servers of the world: what forgets to ask for the
 * order of bytes is found here.
 */
async function createCluster(programs: string, folder: string, account: Account): Promise<void> {
  const password = join(folder, 'password')
  writeFileSync(password, DATABASE_PASSWORD)
  const who = ['--username=postgres', `--pwfile=${password}`, '--auth=scram-sha-256']
  const text = ['--encoding=UTF8', '--locale=C', '--locale-provider=icu', '--icu-locale=en-US']
  const command = [join(programs, 'initdb'), `--pgdata=${join(folder, 'data')}`, ...who, ...text, '--no-sync']
  const child = Bun.spawn(command, { ...account, cwd: folder, env: {}, stdout: 'pipe', stderr: 'pipe' })
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  if ((await child.exited) !== 0) throw new Error(`initdb failed:\n${out}${err}`)
}

/**
 * Ends the server and removes the folder as soon as this process is gone, however it went: it waits for the end of its
 * input, whose other end only this process has. A frozen server must go on, every process of it, to hear of its end.
 */
function startCaretaker(folder: string) {
  const script = `trap '' INT TERM HUP
    read -r _
    first=$(head -n 1 "$1/data/postmaster.pid") && kill -QUIT "$first"
    for stat in /proc/[0-9]*/stat; do
      read -r pid _ _ parent _ <"$stat"
      [ "$pid" = "$first" ] || [ "$parent" = "$first" ] && kill -CONT "$pid"
    done
    for _ in $(seq 100); do kill -0 "$first" || break; sleep 0.1; done
    rm -rf "$1"`
  const command = ['sh', '-c', script, 'sh', folder]
  return Bun.spawn(command, { cwd: '/', stdin: 'pipe', stdout: 'ignore', stderr: 'ignore' })
}

async function dismiss(caretaker: ReturnType<typeof startCaretaker>): Promise<void> {
  caretaker.stdin.end()
  await caretaker.exited
}
