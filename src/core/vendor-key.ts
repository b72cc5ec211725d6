const ID_CHARACTERS = 12
const SHOWN_CHARACTERS = 4
/** Of a shorter key, four characters would be too much of it. */
const SHOWN_OF_CHARACTERS_MIN = 12

/** A vendor's key is named by its hash: health and pauses are by key, wherever the key comes from. */
export const vendorKeyId = (secret: string): string => Bun.SHA256.hash(secret, 'hex').slice(0, ID_CHARACTERS)

export const vendorKeyHint = (secret: string): string =>
  secret.length < SHOWN_OF_CHARACTERS_MIN ? '…' : `…${secret.slice(-SHOWN_CHARACTERS)}`
