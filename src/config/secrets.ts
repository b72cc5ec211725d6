import { readFileSync } from 'node:fs'
import type { Environment } from './file.ts'

const SECRET_CHARACTERS_MIN = 16
/** Far more than any secret; what is longer is another file. */
const FILE_CHARACTERS_MAX = 10_000

/** A variable, or the text of the file that the same name with `_FILE` leads to: containers are handed their secrets so. */
export function readValue(env: Environment, name: string, faults: string[]): string | undefined {
  const path = env[`${name}_FILE`]
  if (!path) return env[name] || undefined
  if (env[name]) faults.push(`${name}_FILE: ${name} is set too, and only one of them can be meant`)
  try {
    const text = readFileSync(path, 'utf8').trim()
    if (text === '') faults.push(`${name}_FILE: ${path} is empty`)
    if (text.length <= FILE_CHARACTERS_MAX) return text || undefined
    faults.push(`${name}_FILE: ${path} is too long for what it should hold`)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : error
    faults.push(`${name}_FILE: ${path} cannot be read (${code})`)
  }
  return undefined
}

export function readSecret(env: Environment, name: string, faults: string[]): string | undefined {
  const secret = readValue(env, name, faults)
  if (!secret) return undefined
  // The value is a secret even when it is faulty, so the fault does not repeat it.
  if (!/^[\x21-\x7e]+$/.test(secret)) faults.push(`${name}: must be printable characters without spaces`)
  else if (secret.length < SECRET_CHARACTERS_MIN) {
    faults.push(`${name}: must have at least ${SECRET_CHARACTERS_MIN} characters`)
  }
  return secret
}

const DATABASE_URL = 'DUET_DATABASE_URL'

/** Its password is a secret, and so is all of an address that cannot be taken apart. */
export function readDatabaseUrl(env: Environment, faults: string[]): string | undefined {
  const text = readValue(env, DATABASE_URL, faults)
  if (text === undefined) return undefined
  const url = URL.parse(text)
  if (!url || !/^postgres(ql)?:$/.test(url.protocol) || url.hostname === '') {
    const example = 'postgres://user:password@host:5432/duet'
    faults.push(`${DATABASE_URL}: must be an address such as ${example}; special characters in it are written as %40`)
  }
  return text
}
