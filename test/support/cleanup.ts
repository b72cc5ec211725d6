import { afterAll } from 'bun:test'
import { cleanUp } from './duet.ts'

// Preloaded (bunfig.toml): runs once, after the last test of all files.
afterAll(cleanUp)
