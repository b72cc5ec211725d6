import { parseArgs } from 'node:util'
import { BUILTIN_MODELS } from '../config/builtin.ts'
import { type Sandbox, startSandbox } from '../sandbox/sandbox.ts'

const DEFAULT_PORT = '7071'

/** The sandbox by itself, for tests of other programs and as the upstream of several gateways. */
export async function runSandbox(args: readonly string[]): Promise<void> {
  const port = readPort(args)
  if (port === undefined) {
    console.error('duet sandbox: usage: duet sandbox [--port 7071]')
    process.exitCode = 2
    return
  }
  const reasoning = new Set(BUILTIN_MODELS.filter(model => model.reasoning).map(({ id }) => id))
  const sandbox = startOrExplain(port, model => reasoning.has(model) || /reason|think/i.test(model))
  if (!sandbox) return
  console.log(`The sandbox is listening on ${sandbox.url} (chat and messages; any key, any model).`)
  const stop = () => sandbox.stop().then(() => process.exit(0))
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
}

function startOrExplain(port: number, reasons: (model: string) => boolean): Sandbox | undefined {
  try {
    return startSandbox({ port, reasons })
  } catch (error) {
    console.error(`duet sandbox: cannot start: ${error instanceof Error ? error.message : error}`)
    process.exitCode = 1
    return undefined
  }
}

function readPort(args: readonly string[]): number | undefined {
  try {
    const { values } = parseArgs({ args: [...args], options: { port: { type: 'string', default: DEFAULT_PORT } } })
    const port = Number(values.port)
    return Number.isInteger(port) && port >= 0 && port <= 65_535 ? port : undefined
  } catch {
    return undefined
  }
}
