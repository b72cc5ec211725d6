import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Where the data of a folder went, and when. */
export interface MovedMark {
  /** Host and database: no address that anybody could sign in with. */
  readonly to: string
  readonly at: string
}

export const movedPath = (folder: string): string => join(folder, 'moved')

/** Two that serve the same keys from different books would each charge half: what was moved is not started any more. */
export function refuseMoved(folder: string): void {
  const mark = readMoved(folder)
  if (mark) throw new Error(movedText(folder, mark))
}

export const movedText = (folder: string, { to, at }: MovedMark): string =>
  `${folder} was moved to ${to} at ${at}: set DUET_DATABASE_URL to use it there; to go back to how it was then, stop ` +
  `every Duet that uses it there and remove ${movedPath(folder)}`

export function readMoved(folder: string): MovedMark | undefined {
  const path = movedPath(folder)
  if (!existsSync(path)) return undefined
  const [to = '', at = ''] = readFileSync(path, 'utf8').trim().split('\n')
  return { to, at }
}

export const markMoved = (folder: string, { to, at }: MovedMark): void =>
  writeFileSync(movedPath(folder), `${to}\n${at}\n`)

export const unmarkMoved = (folder: string): void => rmSync(movedPath(folder), { force: true })
