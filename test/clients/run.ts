import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Installs the clients where they are not yet, checks the types, and runs the suites: all, or those that are named. */

const HERE = import.meta.dirname
const ROOT = join(HERE, '../..')
const INSTALLED = join(HERE, 'node_modules/.installed')

/** Longer than two runs of an agent that have to be ended, which is the longest that a test can take by itself. */
const TEST_MS_MAX = 150_000

install()
run(join(ROOT, 'node_modules/.bin/tsc'), ['--project', HERE])
runSuites(process.argv.slice(2))

/** The stamp goes with `node_modules` when npm starts afresh, so an installation that broke off is none. */
function install(): void {
  const hash = createHash('sha256')
    .update(readFileSync(join(HERE, 'package-lock.json')))
    .digest('hex')
  if (existsSync(INSTALLED) && readFileSync(INSTALLED, 'utf8') === hash) return
  console.log('Installing the clients and agents, about 1 GB, once...')
  // The clients are dev dependencies and the agents' programs optional ones, whatever this machine leaves out elsewhere.
  const args = ['ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund']
  const { status, stdout, stderr } = spawnSync('npm', args, { cwd: HERE, encoding: 'utf8' })
  if (status !== 0) {
    console.error(`npm ci ended with ${status}:\n${stdout}${stderr}`)
    process.exit(1)
  }
  writeFileSync(INSTALLED, hash)
}

/** On the Node.js that was installed with them: the clients want a newer one than Duet does. */
function runSuites(named: readonly string[]): void {
  const suites = named.length > 0 ? named.map(name => `${name}.ts`) : readdirSync(join(HERE, 'suites'))
  run(join(HERE, 'node_modules/.bin/node'), [
    '--test',
    `--test-timeout=${TEST_MS_MAX}`,
    `--test-reporter=${join(HERE, 'summary.ts')}`,
    ...suites.map(file => join(HERE, 'suites', file)),
  ])
}

function run(program: string, args: readonly string[]): void {
  const { status } = spawnSync(program, args, { cwd: ROOT, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}
