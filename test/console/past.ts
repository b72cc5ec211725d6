import { readFileSync } from 'node:fs'

// Loaded into a Duet before its own code (see stage.ts): its clock is late by the milliseconds that a file says, so that
// a morning's worth of requests becomes two weeks of them, told by the server itself.
const realNow = Date.now
const file = process.env.DUET_TEST_LATE_BY ?? ''

Date.now = () => realNow() - Number(readFileSync(file, 'utf8'))
