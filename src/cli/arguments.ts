import { parseArgs } from 'node:util'
import { nearest } from '../routing/nearest.ts'
import { type Argument, type Command, Given } from './command.ts'
import { wrongUsage } from './failure.ts'

/** What every command understands. */
export const SWITCHES = {
  json: 'print what the API answered, as JSON',
  quiet: 'print ids only, or nothing',
  help: 'print this text, as -h does',
} as const

/** Reads what was typed after a command's name; undefined if help was asked for. */
export function readArguments(args: readonly string[], command: Command): Given | undefined {
  const { tokens } = parseArgs({
    args: args.map(shield),
    options: {
      ...mapValues(valuesOf(command), ({ value }) => ({ type: value === undefined ? 'boolean' : 'string' }) as const),
      ...mapValues(SWITCHES, () => ({ type: 'boolean' as const })),
      help: { type: 'boolean', short: 'h' },
    },
    // Not strict, because the words of its errors are not for operators: what is wrong is found below.
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  const options = tokens.filter(token => token.kind === 'option')
  if (options.some(({ name }) => name === 'help')) return undefined
  const words = tokens.flatMap(token => (token.kind === 'positional' ? [unshield(token.value)] : []))
  // Options first: the value of a mistyped one looks like an argument.
  const named = options.flatMap(option => readOption(option, command))
  const values = new Map([...named, ...readWords(words, unnamed(command, named))])
  for (const [name, { isRequired, value }] of Object.entries(command.options ?? {})) {
    if (isRequired && !values.has(name)) throw wrongUsage(`--${name} ${value} is missing`)
  }
  return new Given(values)
}

/**
 * `-5` is an amount here, and there is no option of that name. No argument of a process can hold a NUL, so it marks the
 * ones that `parseArgs` must take for values.
 */
const shield = (arg: string): string => (/^-[\d.]/.test(arg) ? `\0${arg}` : arg)
const unshield = (text: string): string => (text.startsWith('\0') ? text.slice(1) : text)

/** Whoever is used to it may name an argument: `duet accounts topup --account team-a --amount 10`. */
const valuesOf = ({
  options = {},
  arguments: positional = [],
}: Command): Readonly<Record<string, { readonly value?: string }>> => ({
  ...Object.fromEntries(positional.map(({ name }) => [name, { value: `<${name}>` }])),
  ...options,
})

const unnamed = (command: Command, named: readonly (readonly [string, string])[]): readonly Argument[] =>
  (command.arguments ?? []).filter(({ name }) => !named.some(([given]) => given === name))

function readWords(words: readonly string[], wanted: readonly Argument[]): [string, string][] {
  const surplus = words[wanted.length]
  if (surplus !== undefined) throw wrongUsage(`"${surplus}" is one argument too many`)
  return wanted.flatMap(({ name, isOptional }, place) => {
    const word = words[place] || undefined
    if (word === undefined && !isOptional) throw wrongUsage(`<${name}> is missing`)
    return word === undefined ? [] : [[name, word]]
  })
}

interface OptionToken {
  readonly name: string
  readonly rawName: string
  readonly value?: string | undefined
  readonly inlineValue?: boolean | undefined
}

function readOption({ name, rawName, value, inlineValue }: OptionToken, command: Command): [string, string][] {
  if (Object.hasOwn(SWITCHES, name)) {
    if (value !== undefined) throw wrongUsage(`${rawName} takes no value`)
    return []
  }
  const options = valuesOf(command)
  const option = Object.hasOwn(options, name) ? options[name] : undefined
  if (!option) throw wrongUsage(`there is no option ${rawName}${suggestion(name, options)}`)
  if (option.value === undefined) {
    if (value !== undefined) throw wrongUsage(`${rawName} takes no value`)
    return [[name, '']]
  }
  const isNextOption = !inlineValue && value?.startsWith('-')
  // An empty one is a variable that a script forgot to set: a filter for nothing would show everything.
  if (!value || isNextOption) throw wrongUsage(`${rawName} needs a value: ${rawName} ${option.value}`)
  return [[name, unshield(value)]]
}

function suggestion(name: string, options: object): string {
  const [near] = nearest(name, [...Object.keys(options), ...Object.keys(SWITCHES)])
  return near === undefined ? '' : `; did you mean --${near}?`
}

const mapValues = <T, U>(record: Readonly<Record<string, T>>, change: (value: T) => U): Record<string, U> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]))
