import type { Caller, KeyDirectory } from '../core/directory.ts'
import { GatewayError } from '../core/failure.ts'
import { hashSecret } from '../core/key.ts'

export async function authenticate(
  secret: string | undefined,
  { keys, clock }: { readonly keys: KeyDirectory; readonly clock: () => number },
): Promise<Caller> {
  const caller = secret ? await keys.authenticate(hashSecret(secret), clock()) : undefined
  if (!caller) throw new GatewayError({ kind: 'credential-invalid' })
  return caller
}
