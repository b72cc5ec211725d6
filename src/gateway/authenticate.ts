import { createHash } from 'node:crypto'
import { GatewayError } from '../core/failure.ts'
import type { Caller, KeyDirectory } from '../core/ports.ts'

/** Secrets have 256 random bits, so a plain fast hash protects them; only the hash is ever stored or looked up. */
export const hashSecret = (secret: string): string => createHash('sha256').update(secret).digest('hex')

export async function authenticate(
  secret: string | undefined,
  { keys, clock }: { readonly keys: KeyDirectory; readonly clock: () => number },
): Promise<Caller> {
  const caller = secret ? await keys.authenticate(hashSecret(secret), clock()) : undefined
  if (!caller) throw new GatewayError({ kind: 'credential-invalid' })
  return caller
}
