const MESSAGE_CHARACTERS_MAX = 1000

const ADDRESSES = [
  /\b(?:https?|wss?):\/\/[^\s"'<>)]+/gi,
  /\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?(?:\/[^\s"'<>)]*)?/g,
  /\b(?:[a-z0-9-]+\.)+(?:com|net|org|io|ai|dev|app|cloud|local|internal|example|cn)\b(?::\d+)?(?:\/[^\s"'<>)]*)?/gi,
]

const KEYS = [
  // A word that has the name of a secret in it is taken out whole, not from that name on.
  /\b(?:Bearer\s+)?[\w.-]*(?:sk|pk|rk|key|token|secret|gsk|xai)[-_][A-Za-z0-9_*.-]{6,}/gi,
  /\bAIza[A-Za-z0-9_-]{20,}/g,
  /\b[A-Za-z0-9_-]{40,}\b/g,
]

/** A vendor's message on its way to a caller: its addresses and anything that looks like a key are taken out. */
export function scrub(message: string): string {
  const short = message.slice(0, MESSAGE_CHARACTERS_MAX)
  const anonymous = ADDRESSES.reduce((text, pattern) => text.replace(pattern, '[url]'), short)
  return KEYS.reduce((text, pattern) => text.replace(pattern, '[key]'), anonymous)
}
