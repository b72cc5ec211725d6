/** No clock and no randomness here: the same request always yields the same ids. */
export function seedOf(body: string): string {
  return sha256(body).toString('hex')
}

export function hexId(seed: string, label: string): string {
  return sha256(`${seed}/${label}`).toString('hex').slice(0, 24)
}

export function signatureOf(seed: string): string {
  return sha256(`${seed}/signature`).toString('base64')
}

/** A number from `least` to `most`, both included. */
export function pickNumber(seed: string, least: number, most: number): number {
  return least + (Number.parseInt(seed.slice(0, 8), 16) % (most - least + 1))
}

function sha256(text: string): Buffer {
  return new Bun.CryptoHasher('sha256').update(text).digest()
}
