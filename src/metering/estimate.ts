import type { Ask } from '../core/ask.ts'
import type { TextSize } from '../core/source.ts'

/** Latin text and code come to about four characters a token, in every tokenizer in wide use. */
const CHARACTERS_PER_TOKEN = 4
/** What vendors charge for one image, roughly, however large its encoding is. */
const TOKENS_PER_IMAGE = 1_000

/**
 * Tokens of a text, from its length alone: whatever takes three bytes (Chinese, Japanese, Korean) is nearly a token
 * each, the rest a quarter. Counting bytes is one native call; a word-splitting estimator takes 12 ms for a 200 KB
 * prompt, on the path of every request.
 */
export function estimateTokens({ characters, bytes }: TextSize): number {
  const wide = Math.max(0, Math.min(characters, (bytes - characters) / 2))
  return Math.ceil((characters - wide) / CHARACTERS_PER_TOKEN + wide)
}

/** Everything that the model reads, tools and all; only the encodings of images are not text. */
export function estimatePrompt({ promptSize: { characters, bytes }, images }: Ask): number {
  const encoded = images.reduce((sum, image) => sum + image.characters, 0)
  const tokens = estimateTokens({ characters: Math.max(0, characters - encoded), bytes: Math.max(0, bytes - encoded) })
  return tokens + images.length * TOKENS_PER_IMAGE
}
