import type { Command, Group, Run } from './command.ts'
import { COMMANDS } from './commands.ts'
import { isGroup, lookUp, lookUpIn } from './find-command.ts'
import { generalHelp, helpFor, usageOf } from './help.ts'

export const help: Run = async (given, { out }) => {
  const [word, inner] = [given.maybe('command'), given.maybe('subcommand')]
  const asked = word === undefined ? undefined : find(word, inner)
  const entries = asked ? [asked] : Object.entries(COMMANDS).map(([name, entry]) => ({ name, entry }))
  const commands = entries.flatMap(({ name, entry }) => describe(name, entry))
  out.result({
    json: { commands },
    quiet: commands.map(({ name }) => name),
    text: () => (asked ? helpFor(asked.name, asked.entry) : generalHelp()),
  })
}

function find(word: string, inner: string | undefined): { name: string; entry: Command | Group } {
  const entry = lookUp(word)
  if (inner === undefined || !isGroup(entry)) return { name: word, entry }
  return { name: `${word} ${inner}`, entry: lookUpIn({ name: word, group: entry }, inner) }
}

interface CommandView {
  readonly name: string
  readonly summary: string
  readonly usage: string
  readonly details: readonly string[]
  readonly arguments: readonly { readonly name: string; readonly summary: string; readonly required: boolean }[]
  readonly options: readonly {
    readonly name: string
    readonly value: string | null
    readonly summary: string
    readonly required: boolean
  }[]
  readonly examples: readonly string[]
}

/** The table as data, for whoever wants to complete or document it. */
function describe(name: string, entry: Command | Group): CommandView[] {
  if (isGroup(entry)) {
    return Object.entries(entry.commands).flatMap(([inner, command]) => describe(`${name} ${inner}`, command))
  }
  const { summary, details = [], options = {}, examples } = entry
  return [
    {
      ...{ name, summary, usage: usageOf(name, entry).replace('Usage: ', ''), details },
      arguments: (entry.arguments ?? []).map(({ name, summary, isOptional = false }) => ({
        ...{ name, summary, required: !isOptional },
      })),
      options: Object.entries(options).map(([option, { value = null, summary, isRequired = false }]) => ({
        ...{ name: `--${option}`, value, summary, required: isRequired },
      })),
      examples,
    },
  ]
}
