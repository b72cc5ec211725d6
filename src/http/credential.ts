import type { ProtocolName } from '../core/ask.ts'

/** `Bearer <key>`, the bare key, or `x-api-key`; where both headers are there, the dialect's own one wins. */
export function credentialOf(headers: Headers, protocol: ProtocolName): string | undefined {
  const apiKey = headers.get('x-api-key')?.trim() || undefined
  const bearer = bearerOf(headers)
  return protocol === 'messages' ? (apiKey ?? bearer) : (bearer ?? apiKey)
}

/** What `Authorization` holds, with or without its prefix. */
export function bearerOf(headers: Headers): string | undefined {
  const value = headers.get('authorization') ?? ''
  return value.replace(/^bearer\s+/i, '').trim() || undefined
}
