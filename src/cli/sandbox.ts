import { BUILTIN_MODELS } from '../config/builtin.ts'
import { type Sandbox, startSandbox } from '../sandbox/sandbox.ts'
import type { Run } from './command.ts'
import { failure } from './failure.ts'
import { readPort } from './read.ts'

const DEFAULT_PORT = '7071'

/** The sandbox by itself, for tests of other programs and as the upstream of several gateways. */
export const sandbox: Run = async (given, { out }) => {
  const port = readPort(given.maybe('port') ?? DEFAULT_PORT)
  const reasoning = new Set(BUILTIN_MODELS.filter(model => model.reasoning).map(({ id }) => id))
  const running = startOrExplain(port, model => reasoning.has(model) || /reason|think/i.test(model))
  const stop = () => running.stop().then(() => process.exit(0))
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  out.result({
    json: { url: running.url },
    text: () => `The sandbox is listening on ${running.url} (chat and messages; any key, any model).`,
  })
}

function startOrExplain(port: number, reasons: (model: string) => boolean): Sandbox {
  try {
    return startSandbox({ port, reasons })
  } catch (error) {
    throw failure(`the sandbox cannot start: ${error instanceof Error ? error.message : error}`)
  }
}
