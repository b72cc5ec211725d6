import type { Prompt, Tool } from './prompt.ts'
import type { Schema } from './schema/schema.ts'
import { objectFor } from './schema/value.ts'
import { clip, shorten } from './words.ts'

const QUESTION_LENGTH_MAX = 160
const INSTRUCTIONS_LENGTH_MAX = 60
const RESULT_LENGTH_MAX = 4_000

export function plainText(prompt: Prompt): string {
  const instructions = shorten(prompt.system, INSTRUCTIONS_LENGTH_MAX)
  const sentences = [
    opening(prompt),
    `This is the sandbox speaking as ${prompt.model}: no model was asked.`,
    instructions && `My instructions begin with "${instructions}".`,
  ]
  return sentences.filter(sentence => sentence !== '').join(' ')
}

export function documentText(prompt: Prompt, schema: Schema | undefined): string {
  if (schema !== undefined) return JSON.stringify(objectFor(schema, prompt.question))
  return JSON.stringify({ answer: plainText(prompt), question: shorten(prompt.question, QUESTION_LENGTH_MAX) })
}

export function reasoningText(prompt: Prompt, tools: readonly Tool[]): string {
  const question = shorten(prompt.question, QUESTION_LENGTH_MAX)
  const plan =
    tools.length > 0 ? `I should call ${tools.map(tool => tool.name).join(' and ')}.` : 'I can answer at once.'
  return `The user wrote "${question}". Let me think about that as a sandbox does: briefly. ${plan}`
}

function opening({ results, question }: Prompt): string {
  const returned = results.map(({ name, text }) => `The tool ${name} returned: ${clip(text, RESULT_LENGTH_MAX)}`)
  if (returned.length > 0) return `${returned.join('\n')}\n`
  return question === ''
    ? 'You said nothing that I can read.'
    : `You said: "${shorten(question, QUESTION_LENGTH_MAX)}".`
}
