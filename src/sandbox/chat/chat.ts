import type { Dialect } from '../dialect.ts'
import { readPrompt } from './read.ts'
import { writeBody, writeError, writeFrames } from './write.ts'

export const chat: Dialect = {
  requestIdHeader: 'x-request-id',
  read: readPrompt,
  body: writeBody,
  frames: writeFrames,
  error: writeError,
}
