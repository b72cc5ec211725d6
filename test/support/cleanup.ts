import { afterAll } from 'bun:test'
import { closeChromium } from './chromium.ts'
import { removeDatabases } from './databases.ts'
import { cleanUp } from './duet.ts'
import { tellSkipped } from './skipped.ts'

// Preloaded (bunfig.toml): runs after the last test of all files, or of each file where they run side by side.
afterAll(closeChromium)
afterAll(cleanUp)
afterAll(removeDatabases)
afterAll(tellSkipped)
