import { cpus } from 'node:os'

/** What the benchmark needs of the machine, and the Debian package that brings it. */
const PACKAGES = { cc: 'gcc libc6-dev', nginx: 'nginx-light', taskset: 'util-linux', node: 'nodejs', npm: 'npm' }
const CORES_MIN = 2
/** Where Debian has nginx, but not on the path of every user. */
const SEARCHED = `${process.env.PATH}:/usr/sbin:/usr/local/sbin`

/** Everything that is missing at once, as sentences. */
export function missing(): string[] {
  const faults: string[] = []
  if (process.platform !== 'linux') faults.push('Processes are watched by means of /proc: this needs Linux.')
  if (cpus().length < CORES_MIN) faults.push(`One core for the gateway and one for the load: this needs ${CORES_MIN}.`)
  const packages = Object.entries(PACKAGES).filter(([program]) => !find(program))
  if (packages.length > 0) {
    const names = packages.map(([program]) => program).join(', ')
    faults.push(`Missing: ${names}. apt-get install ${packages.map(([, name]) => name).join(' ')}`)
  }
  return faults
}

export const find = (program: string): string | null => Bun.which(program, { PATH: SEARCHED })

/** How many files, sockets among them, a process may have open. */
export function openFilesMax(): number {
  return Number(Bun.spawnSync(['sh', '-c', 'ulimit -Hn']).stdout.toString()) || Number.POSITIVE_INFINITY
}
