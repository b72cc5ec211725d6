export interface SampleParts {
  /** With `/v1`. */
  readonly base: string
  readonly model: string
  readonly key: string
  /** Double quotes let the shell put in a variable, single ones leave every character alone. */
  quote(text: string): string
}

/** One line for each protocol that works when pasted. */
export function samples({ base, model, key, quote }: SampleParts): Record<'chat' | 'messages', string> {
  const messages = [{ role: 'user', content: 'Hello' }]
  const chat = JSON.stringify({ model, messages })
  const withLimit = JSON.stringify({ model, max_tokens: 200, messages })
  return {
    chat: `curl ${base}/chat/completions -H ${quote(`authorization: Bearer ${key}`)} -d '${chat}'`,
    messages: `curl ${base}/messages -H ${quote(`x-api-key: ${key}`)} -d '${withLimit}'`,
  }
}
