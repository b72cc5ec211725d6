import type { ProtocolName } from '../core/ask.ts'

/** `Bearer <key>`, the bare key, or `x-api-key`; where both headers are there, the dialect's own one wins. */
export function credentialOf(headers: Headers, protocol: ProtocolName): string | undefined {
  const apiKey = headers.get('x-api-key')?.trim() || undefined
  const bearer =
    headers
      .get('authorization')
      ?.replace(/^bearer\s+/i, '')
      .trim() || undefined
  return protocol === 'messages' ? (apiKey ?? bearer) : (bearer ?? apiKey)
}
