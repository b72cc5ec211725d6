import { afterAll } from 'bun:test'
import { cleanUp } from './duet.ts'
import { tellSkipped } from './skipped.ts'

// Preloaded (bunfig.toml): runs once, after the last test of all files.
afterAll(cleanUp)
afterAll(tellSkipped)
