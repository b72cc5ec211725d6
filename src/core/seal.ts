import { late } from './late.ts'

/** Keeps what must be read again from everyone who has the database but not the secret. */
export interface Sealer {
  seal(text: string): string
  /** Throws for what was sealed with another secret, or changed since. */
  open(sealed: string): string
  sealBytes(bytes: Uint8Array): Uint8Array
  openBytes(sealed: Uint8Array): Uint8Array
  /** For tokens that are only compared: without the secret, not even a guess can be checked. */
  sign(text: string): string
}

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

interface Keys {
  readonly sealing: Buffer
  readonly signing: Buffer
}

function deriveKeys(secret: string): Keys {
  const { hkdfSync } = late.crypto
  const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', secret, '', `duet ${purpose}`, KEY_BYTES))
  return { sealing: derive('sealing'), signing: derive('signing') }
}

export function createSealer(secret: string): Sealer {
  let derived: Keys | undefined
  const keys = () => {
    derived ??= deriveKeys(secret)
    return derived
  }
  const sealBytes = (bytes: Uint8Array) => {
    const nonce = late.crypto.randomBytes(NONCE_BYTES)
    const cipher = late.crypto.createCipheriv(CIPHER, keys().sealing, nonce, { authTagLength: TAG_BYTES })
    const sealed = Buffer.concat([cipher.update(bytes), cipher.final()])
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed])
  }
  const openBytes = (bytes: Uint8Array) => {
    const nonce = bytes.subarray(0, NONCE_BYTES)
    const decipher = late.crypto.createDecipheriv(CIPHER, keys().sealing, nonce, { authTagLength: TAG_BYTES })
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
    const opened = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES))
    return Buffer.concat([opened, decipher.final()])
  }
  return {
    seal: text => sealBytes(Buffer.from(text, 'utf8')).toString('base64'),
    open: sealed => openBytes(Buffer.from(sealed, 'base64')).toString('utf8'),
    sealBytes,
    openBytes,
    sign: text => new Bun.CryptoHasher('sha256', keys().signing).update(text).digest('hex'),
  }
}
