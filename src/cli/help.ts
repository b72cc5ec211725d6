import { SWITCHES } from './arguments.ts'
import type { Command, Group } from './command.ts'
import { COMMANDS } from './commands.ts'
import { isGroup } from './find-command.ts'

/** `Usage: duet keys create --name <name> [options]`, made from the table. */
export function usageOf(name: string, command: Command): string {
  const required = Object.entries(command.options ?? {}).filter(([, { isRequired }]) => isRequired)
  const words = [
    ...(command.arguments ?? []).map(({ name, isOptional }) => (isOptional ? `[<${name}>]` : `<${name}>`)),
    ...required.map(([option, { value }]) => asTyped(option, value)),
    ...(Object.keys(command.options ?? {}).length > required.length ? ['[options]'] : []),
  ]
  return ['Usage: duet', name, ...words].join(' ')
}

const asTyped = (option: string, value: string | undefined): string =>
  value === undefined ? `--${option}` : `--${option} ${value}`

export const shortHelpFor = (name: string, command: Command): string =>
  `${usageOf(name, command)}\nduet help ${name} says more.`

export function helpFor(name: string, entry: Command | Group): string {
  return isGroup(entry) ? helpForGroup(name, entry) : helpForCommand(name, entry)
}

export function generalHelp(): string {
  const rows = Object.entries(COMMANDS).map(([name, entry]): Row => {
    const inside = isGroup(entry) ? `: ${Object.keys(entry.commands).join(', ')}` : ''
    return [name, `${entry.summary}${inside}`]
  })
  return [
    'Usage: duet [command]',
    '',
    list(rows),
    '',
    'duet help <command> says more about one. Every command understands --json and --quiet.',
    'Commands ask the running server: DUET_URL says where it is, DUET_ADMIN_TOKEN opens it.',
  ].join('\n')
}

function helpForGroup(name: string, { summary, commands }: Group): string {
  const rows = Object.entries(commands).map(([command, entry]): Row => [command, entry.summary])
  return [
    `Usage: duet ${name} ${'list' in commands ? '[<command>]' : '<command>'}`,
    '',
    sentence(summary),
    '',
    list(rows),
    '',
    ...('list' in commands ? [`duet ${name} alone is duet ${name} list.`] : []),
    `duet help ${name} <command> says more about one.`,
  ].join('\n')
}

function helpForCommand(name: string, command: Command): string {
  const options = Object.entries(command.options ?? {})
  const sections: [title: string, rows: Row[]][] = [
    ['Arguments', (command.arguments ?? []).map(({ name, summary }): Row => [`<${name}>`, summary])],
    [
      'Options',
      [
        ...options.map(([option, { value, summary }]): Row => [asTyped(option, value), summary]),
        ...Object.entries(SWITCHES).map(([option, summary]): Row => [`--${option}`, summary]),
      ],
    ],
  ]
  return [
    usageOf(name, command),
    '',
    sentence(command.summary),
    ...(command.details ?? []),
    ...sections.flatMap(([title, rows]) => (rows.length === 0 ? [] : ['', `${title}:`, list(rows)])),
    '',
    'Examples:',
    ...command.examples.map(example => `  ${example}`),
  ].join('\n')
}

type Row = readonly [name: string, summary: string]

function list(rows: readonly Row[]): string {
  const width = Math.max(...rows.map(([name]) => name.length))
  return rows.map(([name, summary]) => `  ${name.padEnd(width)}  ${summary}`).join('\n')
}

const sentence = (text: string): string => `${text[0]?.toUpperCase()}${text.slice(1)}.`
