import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readSecret } from '../config/secrets.ts'
import { createSealer, type Sealer } from '../core/seal.ts'
import type { Context } from './command.ts'
import { failure, wrongUsage } from './failure.ts'

type Sealed = string | Uint8Array

/** Where the secret is that an installation seals and signs with; it is never shown. */
export type SecretPlace =
  | { readonly in: 'environment'; readonly other?: string }
  | { readonly in: 'file'; readonly path: string }
  | { readonly in: 'nowhere' }

/** The one that opens what was sealed: with another, vendor keys would be lost and everybody signed out. */
export function checkSecret(folder: string, sealed: readonly Sealed[], env: Context['env']): SecretPlace {
  const path = join(folder, 'secret')
  const given = givenSecret(env)
  const kept = existsSync(path) ? readFileSync(path, 'utf8').trim() : undefined
  const opens = (secret: string) => sealed.every(each => isOpenedBy(createSealer(secret), each))

  if (given !== undefined && opens(given)) {
    return { in: 'environment', ...(kept !== undefined && kept !== given ? { other: path } : {}) }
  }
  if (given !== undefined) {
    const advice = kept !== undefined && opens(kept) ? `the one that does is in ${path}: unset DUET_SECRET, or ` : ''
    throw failure(`DUET_SECRET does not open what is sealed in ${folder}; ${advice}set it to what this Duet ran with`)
  }
  if (kept !== undefined && opens(kept)) return { in: 'file', path }
  if (sealed.length === 0) return { in: 'nowhere' }
  const what = kept === undefined ? `there is no ${path}` : `${path} does not open what is sealed in ${folder}`
  throw failure(`${what}; set DUET_SECRET to what this Duet ran with`)
}

function givenSecret(env: Context['env']): string | undefined {
  const faults: string[] = []
  const secret = readSecret(env, 'DUET_SECRET', faults)
  if (faults.length > 0) throw wrongUsage(faults.join('; '))
  return secret
}

function isOpenedBy(sealer: Sealer, sealed: Sealed): boolean {
  try {
    if (typeof sealed === 'string') sealer.open(sealed)
    else sealer.openBytes(sealed)
    return true
  } catch {
    return false
  }
}

/** What to set for every replica, without saying what it is. */
export function secretText(place: SecretPlace): string {
  if (place.in === 'file') return `what is in ${place.path}: DUET_SECRET=$(cat ${place.path})`
  if (place.in === 'nowhere') return 'a secret of your own, of at least 16 characters'
  const other = place.other === undefined ? '' : ` (if this Duet ran with it: ${place.other} holds another)`
  return `the same as here${other}`
}
