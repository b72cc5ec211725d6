import type { Dialect } from '../dialect.ts'
import { readPrompt } from './read.ts'
import { writeBody, writeError, writeFrames } from './write.ts'

export const messages: Dialect = {
  requestIdHeader: 'request-id',
  read: readPrompt,
  body: writeBody,
  frames: writeFrames,
  error: writeError,
}
