import { isObject, type JsonObject } from '../core/ask.ts'
import { GatewayError } from '../core/failure.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** The text of a body, which must be whole UTF-8. */
export function decodeText(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch (cause) {
    throw new GatewayError({ kind: 'body-not-json' }, cause)
  }
}

export function parseBody(text: string): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new GatewayError({ kind: 'body-not-json' }, cause)
  }
  if (!isObject(value)) throw new GatewayError({ kind: 'body-not-json' })
  return value
}
