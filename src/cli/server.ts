import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { failure, wrongUsage } from './failure.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Where the server is, and what opens it. */
export interface ServerPlace {
  /** Without a slash at its end. */
  readonly base: string
  /** Whether somebody said where, or it is looked for where a start without settings puts it. */
  readonly isNamed: boolean
  readonly token: string | undefined
  /** Where the token was looked for, for those whose token is refused. */
  readonly tokenPlaces: string
}

export function findServer(env: Environment): ServerPlace {
  const isNamed = Boolean(env.DUET_URL)
  return { base: isNamed ? namedAddress(env.DUET_URL ?? '') : usualAddress(env), isNamed, ...findToken(env) }
}

export const dataFolder = (env: Environment): string => env.DUET_DATA || './data'

/** People paste the address that they gave to their clients. What a URL carries beside the address is left out. */
function namedAddress(text: string): string {
  const url = URL.parse(text.includes('://') ? text : `http://${text}`)
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw wrongUsage('DUET_URL: must be an address such as http://127.0.0.1:7070')
  }
  return url.origin + url.pathname.replace(/(\/|\/v1|\/api)+$/, '')
}

/** Hosts that mean every address of the machine, and cannot be called. */
const EVERYWHERE = new Set(['', '0.0.0.0', '::', 'localhost'])

function usualAddress({ DUET_HOST = '', DUET_PORT }: Environment): string {
  const host = EVERYWHERE.has(DUET_HOST) ? '127.0.0.1' : DUET_HOST
  const url = URL.parse(`http://${host.includes(':') ? `[${host}]` : host}:${DUET_PORT || 7070}`)
  if (!url) throw wrongUsage('DUET_HOST and DUET_PORT do not make an address')
  return url.origin
}

function findToken(env: Environment): Pick<ServerPlace, 'token' | 'tokenPlaces'> {
  const path = join(dataFolder(env), 'admin-token')
  const given = env.DUET_ADMIN_TOKEN?.trim()
  if (given) {
    const tokenPlaces = `it was taken from DUET_ADMIN_TOKEN; without that, it is read from ${path}`
    return { token: checked(given, 'DUET_ADMIN_TOKEN'), tokenPlaces }
  }
  const kept = readIfThere(path)
  if (kept)
    return { token: checked(kept, path), tokenPlaces: `it was read from ${path}, as DUET_ADMIN_TOKEN is not set` }
  return { token: undefined, tokenPlaces: `DUET_ADMIN_TOKEN is not set and ${path} cannot be read` }
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return undefined
  }
}

/** A header cannot carry anything else. */
function checked(token: string, place: string): string {
  if (!/^[\x21-\x7e]+$/.test(token)) throw failure(`${place}: an admin token has printable characters without spaces`)
  return token
}
