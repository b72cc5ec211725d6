import { signal } from '@preact/signals'
import type { ChannelTestView } from '../../../src/admin/contract.ts'

/** How the latest test of a channel ended. */
export interface TestOutcome {
  readonly at: string
  readonly result: ChannelTestView
}

/** The server keeps no tests: what is known of them lasts as long as the console is open. */
const outcomes = signal<ReadonlyMap<string, TestOutcome>>(new Map())

export const testOf = (channel: string): TestOutcome | undefined => outcomes.value.get(channel)

export function rememberTest(result: ChannelTestView): void {
  outcomes.value = new Map([...outcomes.value, [result.channel, { at: new Date().toISOString(), result }]])
}

/** It says nothing of a channel that is described anew. */
export function forgetTest(channel: string): void {
  outcomes.value = new Map([...outcomes.value].filter(([name]) => name !== channel))
}
