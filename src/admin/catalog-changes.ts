import { ConfigError } from '../config/faults.ts'
import { isObject, type JsonObject } from '../core/ask.ts'
import { type CatalogChange, type CatalogEditor, ChangeRefused, type Refusal } from '../core/managed.ts'
import { AdminError, conflict, notFound, unprocessable } from './failure.ts'

const DEFINED_BY = {
  file: 'is defined in the configuration file; change it there',
  environment: 'is made from a variable of the environment; change it there',
  builtin: 'is built in; switch it off instead',
  sandbox: 'is the sandbox, which serves until there is a real channel',
}

/** Changes the catalog, or says with an honest status why it stays as it is. */
export async function changeCatalog(change: CatalogChange, editor: CatalogEditor): Promise<void> {
  try {
    await editor.change(change)
  } catch (error) {
    throw error instanceof ChangeRefused ? explain(error.refusal) : error
  }
}

function explain(refusal: Refusal): AdminError {
  switch (refusal.reason) {
    case 'unknown':
      return notFound(refusal.what)
    case 'taken':
      return conflict(`${refusal.what} exists already`, refusal.param)
    case 'read-only':
      return new AdminError(409, 'read_only', `${refusal.what} ${DEFINED_BY[refusal.by]}`)
    case 'invalid':
      return unprocessable(refusal.faults.join('\n'), pathOf(refusal.faults[0]))
  }
}

/** `base_url` of `base_url: must be an http or https address`. */
const pathOf = (fault = ''): string => /^[^\s:]*(?=: )/.exec(fault)?.[0] ?? ''

export async function reloadCatalog(editor: CatalogEditor): Promise<void> {
  try {
    await editor.reload()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw new AdminError(422, 'invalid_config', error.faults.join('\n'))
  }
}

export function asSettings(body: unknown): JsonObject {
  if (!isObject(body)) throw unprocessable('body: must be an object', 'body')
  return body
}

/** What something is called is how it is found: it is made under another name, not renamed. */
export function withoutName(settings: JsonObject, field: 'id' | 'name', name: string): JsonObject {
  const { [field]: given = name, ...rest } = settings
  if (given !== name) throw unprocessable(`${field}: cannot be changed`, field)
  return rest
}
