import { nearest } from '../routing/nearest.ts'
import type { Command, Group } from './command.ts'
import { COMMANDS } from './commands.ts'
import { CommandError, EXIT } from './failure.ts'

/** The command that the first words of a command line name, and the words after them. */
export interface Found {
  /** `accounts create`. */
  readonly name: string
  readonly command: Command
  readonly rest: readonly string[]
}

export interface NamedGroup {
  readonly name: string
  readonly group: Group
}

export class NoSuchCommand extends CommandError {
  /** Where it was looked for; undefined for the first word. */
  readonly within: NamedGroup | undefined

  constructor(message: string, within?: NamedGroup) {
    super(message, { code: 'usage', exit: EXIT.usage })
    this.within = within
  }
}

const SYNONYMS: ReadonlyMap<string, string> = new Map([
  ['--help', 'help'],
  ['-h', 'help'],
  ['--version', 'version'],
  ['-v', 'version'],
])

/** Without a name it is `start`, also where options follow. */
export function findCommand(args: readonly string[]): Found {
  const { word, rest } = nextWord(args)
  const name = word ?? 'start'
  const entry = lookUp(name)
  if (!isGroup(entry)) return { name, command: entry, rest }

  const within = { name, group: entry }
  const { word: inner, rest: others } = nextWord(rest)
  if (inner === undefined) return { ...listIn(within), rest: others }
  // `duet accounts --help` asks the same as `duet help accounts`.
  if (inner === 'help') return findCommand(['help', name, ...others])
  return { name: `${name} ${inner}`, command: lookUpIn(within, inner), rest: others }
}

/** `duet keys` alone asks what is there, as `duet models` does. */
function listIn({ name, group }: NamedGroup): Omit<Found, 'rest'> {
  const { list } = group.commands
  if (!list) throw new NoSuchCommand(`which command of "${name}"?`, { name, group })
  return { name: `${name} list`, command: list }
}

export const isGroup = (entry: Command | Group): entry is Group => 'commands' in entry

/** Switches may stand before a command's name: `duet --json keys list`. */
function nextWord(args: readonly string[]): { word: string | undefined; rest: readonly string[] } {
  const place = args.findIndex(arg => arg !== '--json' && arg !== '--quiet')
  const found = args[place]
  const word = found === undefined ? undefined : (SYNONYMS.get(found) ?? found)
  if (word === undefined || word.startsWith('-')) return { word: undefined, rest: args }
  return { word, rest: args.toSpliced(place, 1) }
}

export function lookUp(word: string): Command | Group {
  const entry = Object.hasOwn(COMMANDS, word) ? COMMANDS[word] : undefined
  if (!entry) throw new NoSuchCommand(`there is no command "${word}"${suggestion(word, COMMANDS, '')}`)
  return entry
}

export function lookUpIn(within: NamedGroup, word: string): Command {
  const { name, group } = within
  const command = Object.hasOwn(group.commands, word) ? group.commands[word] : undefined
  if (command) return command
  const hint = suggestion(word, group.commands, `${name} `)
  throw new NoSuchCommand(`there is no command "${name} ${word}"${hint}`, within)
}

function suggestion(word: string, known: object, prefix: string): string {
  const [near] = nearest(word, Object.keys(known))
  return near === undefined ? '' : `; did you mean "duet ${prefix}${near}"?`
}
