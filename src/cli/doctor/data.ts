import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { List, UsageView } from '../../admin/contract.ts'
import { databasePath, openStore } from '../../open-store.ts'
import { movedText, readMoved } from '../../setup/moved.ts'
import { asCommandError } from '../failure.ts'
import { type Check, failed, ok, warning } from './check.ts'
import type { Visit } from './server.ts'

const NAME = 'database'

/** One process owns the file: while a server has it, the server is asked. */
export async function checkData(folder: string, { isRunning, api }: Visit): Promise<Check> {
  try {
    if (api) {
      await api.get<List<UsageView>>('/usage', { limit: 1 })
      return ok(NAME, 'the server reads it')
    }
    return isRunning ? warning(NAME, 'not checked: the server does not take our token') : await checkFile(folder)
  } catch (error) {
    return failed(NAME, asCommandError(error).message)
  }
}

async function checkFile(folder: string): Promise<Check> {
  const place = existing(resolve(folder))
  if (!statSync(place).isDirectory()) return failed(NAME, `${place} is not a folder`)
  accessSync(place, constants.W_OK)
  const mark = readMoved(folder)
  if (mark) return failed(NAME, movedText(folder, mark))
  const path = databasePath(folder)
  if (!existsSync(path)) return ok(NAME, `${path} is made by the first start`)
  const store = await openStore({ dataFolder: folder, durability: 'process' })
  await store.close()
  return ok(NAME, `${path} can be opened and has the newest form`)
}

/** The folder itself, or the one in which it will be made. */
function existing(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : existing(dirname(folder))
}
