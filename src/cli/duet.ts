import { readArguments } from './arguments.ts'
import { CommandError, EXIT, type ExitCode } from './failure.ts'
import { type Found, findCommand, NoSuchCommand } from './find-command.ts'
import { Output } from './output.ts'
import { mayColour } from './paint.ts'

/** The words of a command line, from the command to its exit code. */
async function run(args: readonly string[], env: NodeJS.ProcessEnv): Promise<ExitCode> {
  const out = new Output({
    isJson: args.includes('--json'),
    isQuiet: args.includes('--quiet'),
    mayColour: mayColour(env),
  })
  let found: Found | undefined
  try {
    found = findCommand(args)
    const given = readArguments(found.rest, found.command)
    if (given) await (await found.command.load())(given, { env, out, clock: Date.now })
    else out.line((await import('./help.ts')).helpFor(found.name, found.command))
    return EXIT.ok
  } catch (error) {
    return out.fail(error, await helpAfter(error, found))
  }
}

/** Whoever mistyped something sees what can be typed there. */
async function helpAfter(error: unknown, found: Found | undefined): Promise<string | undefined> {
  const { generalHelp, helpFor, shortHelpFor } = await import('./help.ts')
  if (error instanceof NoSuchCommand) {
    return error.within ? helpFor(error.within.name, error.within.group) : generalHelp()
  }
  const isUsage = error instanceof CommandError && error.exit === EXIT.usage
  return isUsage && found ? shortHelpFor(found.name, found.command) : undefined
}

const code = await run(process.argv.slice(2), process.env)
// A start that failed half-way leaves parts of a server running; a start that succeeded must go on.
if (code !== EXIT.ok) process.exit(code)
