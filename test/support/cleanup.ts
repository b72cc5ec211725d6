import { afterAll } from 'bun:test'
import { closeChromium } from './chromium.ts'
import { cleanUp } from './duet.ts'
import { tellSkipped } from './skipped.ts'

// Preloaded (bunfig.toml): runs once, after the last test of all files.
afterAll(closeChromium)
afterAll(cleanUp)
afterAll(tellSkipped)
