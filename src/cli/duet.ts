import { VERSION } from '../version.ts'

interface Command {
  readonly summary: string
  run(args: readonly string[]): Promise<void>
}

const COMMANDS: Readonly<Record<string, Command>> = {
  start: {
    summary: 'run the gateway (the default)',
    run: async () => (await import('../main.ts')).start(),
  },
  sandbox: {
    summary: 'run the sandbox upstream alone: duet sandbox [--port 7071]',
    run: async args => (await import('./sandbox.ts')).runSandbox(args),
  },
  version: {
    summary: 'print the version',
    run: async () => console.log(VERSION),
  },
  help: {
    summary: 'print this text',
    run: async () => console.log(help()),
  },
}

const SYNONYMS: Readonly<Record<string, string>> = {
  '--help': 'help',
  '-h': 'help',
  '--version': 'version',
  '-v': 'version',
}

function help(): string {
  const rows = Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(10)}${summary}`)
  return [
    'Usage: duet [command]',
    '',
    ...rows,
    '',
    'Settings come from the environment and duet.yaml; see README.md.',
  ].join('\n')
}

const [given = 'start', ...args] = process.argv.slice(2)
const name = SYNONYMS[given] ?? given
const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
if (command) {
  await command.run(args)
} else {
  console.error(`duet: there is no command "${given}"\n\n${help()}`)
  process.exitCode = 2
}
