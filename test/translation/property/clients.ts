import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import type { JsonBody } from '../../support/duet.ts'

/** What the official clients make of a stream; nothing leaves the process. */

const answering = (stream: string) => async () =>
  new Response(stream, { headers: { 'content-type': 'text/event-stream' } })

const HELLO = { model: 'm', messages: [{ role: 'user' as const, content: 'Hello' }] }

export async function finalMessage(stream: string): Promise<JsonBody> {
  const client = new Anthropic({ apiKey: 'none', maxRetries: 0, fetch: answering(stream) })
  return client.messages.stream({ ...HELLO, max_tokens: 100 }).finalMessage()
}

export async function finalCompletion(stream: string): Promise<JsonBody> {
  const client = new OpenAI({ apiKey: 'none', maxRetries: 0, fetch: answering(stream) })
  return client.chat.completions.stream(HELLO).finalChatCompletion()
}
