const MESSAGE_CHARACTERS_MAX = 1000

/** A vendor's message on its way to a caller: its addresses and anything that looks like a key are taken out. */
export function scrub(message: string): string {
  return message
    .slice(0, MESSAGE_CHARACTERS_MAX)
    .replace(/\b(?:https?|wss?):\/\/[^\s"'<>)]+/gi, '[url]')
    .replace(/\b(?:Bearer\s+)?(?:sk|pk|rk|key|token|AIza|gsk|xai)[-_][A-Za-z0-9_*.-]{6,}/gi, '[key]')
    .replace(/\bAIza[A-Za-z0-9_-]{20,}/g, '[key]')
    .replace(/\b[A-Za-z0-9_-]{40,}\b/g, '[key]')
}
