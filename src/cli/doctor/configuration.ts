import { type Config, readConfig } from '../../config/config.ts'
import { ConfigError } from '../../config/faults.ts'
import { type LayeredCatalog, layCatalog } from '../../config/layers.ts'
import type { Context } from '../command.ts'
import { count } from '../table.ts'
import { type Check, failed, ok } from './check.ts'

export interface Configuration {
  readonly check: Check
  /** Undefined where it has faults. */
  readonly settings: { readonly config: Config; readonly loaded: LayeredCatalog } | undefined
}

const NAME = 'configuration'

/** What a start from here would read: all faults of it, as the start would list them. */
export async function checkConfiguration({ env }: Pick<Context, 'env'>): Promise<Configuration> {
  try {
    const config = readConfig(env)
    const loaded = layCatalog(await config.catalog.load())
    const { models, channels } = loaded
    const place = config.catalog.path ?? 'no duet.yaml, the built-in catalog'
    const upstreams = channels.length === 0 ? 'the sandbox' : count(channels.length, 'channel')
    return {
      check: ok(NAME, `${place}: ${count(models.length, 'model')}, ${upstreams}`),
      settings: { config, loaded },
    }
  } catch (error) {
    return { check: explain(error), settings: undefined }
  }
}

function explain(error: unknown): Check {
  if (!(error instanceof ConfigError)) return failed(NAME, error instanceof Error ? error.message : String(error))
  return failed(NAME, `it has ${count(error.faults.length, 'fault')}`, error.faults)
}
