import { shorten } from '../words.ts'

/** Properties that want the question itself rather than a name that occurs in it. */
const WHOLE_QUESTION = /^(q|query|question|prompt|message|text|input|content|search|body|description|answer|summary)$/i

const HINT_LENGTH_MAX = 48

const CAPITALISED_WORDS = /\p{Lu}[\p{L}\p{N}'’-]+(?: \p{Lu}[\p{L}\p{N}'’-]+)*/gu

/** What a text property most likely wants of the question: `city` in "What is the weather in Paris?" is "Paris". */
export function hintFor(property: string, question: string): string {
  const whole = shorten(question, HINT_LENGTH_MAX) || 'sandbox'
  return WHOLE_QUESTION.test(property) ? whole : (lastName(question) ?? whole)
}

function lastName(question: string): string | undefined {
  const sentences = question.split(/[.!?\n]+\s*/u).filter(sentence => sentence !== '')
  // The first word of a sentence has a capital whether it is a name or not.
  const inside = sentences.flatMap(sentence => namesIn(sentence.replace(/^\S+\s*/u, '')))
  return inside.at(-1) ?? sentences.flatMap(namesIn).at(-1)
}

function namesIn(sentence: string): readonly string[] {
  return sentence.match(CAPITALISED_WORDS) ?? []
}
