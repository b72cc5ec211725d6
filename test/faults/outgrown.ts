import { expect } from 'bun:test'
import type { Duet } from '../support/duet.ts'
import { eventStream, scriptUpstream } from '../support/upstream.ts'
import { protocolOf } from '../support/vendor.ts'
import { eventually, newCaller } from '../support/wire.ts'
import { Listener } from './listener.ts'
import { framesWith, PROMPT, USAGE } from './said.ts'
import {
  costOf,
  expectSound,
  expectVerified,
  nanosOf,
  requestFor,
  STREAMED,
  settledBooks,
  stageConfig,
  tokensIn,
} from './support.ts'

interface Scene<Server extends Duet> {
  start(config: string): Promise<Server>
  /** The ledger cannot be asked from now on. */
  leave(duet: Server): Promise<void> | void
  comeBack(duet: Server): Promise<void> | void
}

/** Streams that outgrow their holds while the ledger is away go on, end whole when it is back, and are charged for all of it. */
export async function expectOutgrown<Server extends Duet>({ start, leave, comeBack }: Scene<Server>): Promise<void> {
  const text = 'More than was held. '.repeat(1_000)
  const output = tokensIn(text)
  const usage = {
    chat: { ...USAGE.chat, completion_tokens: output, total_tokens: 1000 + output },
    messages: { ...USAGE.messages, output_tokens: output },
  }
  const { promise: isAway, resolve: sayIsAway } = Promise.withResolvers<void>()
  const { promise: isBack, resolve: sayIsBack } = Promise.withResolvers<void>()
  const upstream = scriptUpstream(visit => {
    const all = framesWith(protocolOf(visit), [text], usage)
    const place = all.findIndex(frame => frame.includes(text))
    return eventStream([
      ...all.slice(0, place),
      isAway,
      ...all.slice(place, place + 1),
      isBack,
      ...all.slice(place + 1),
    ])
  })
  const duet = await start(stageConfig(upstream.base))
  const calls = await Promise.all(
    STREAMED.map(async way => {
      const { account, key } = await newCaller(duet)
      const request = requestFor(way, 'Hello', { max_tokens: 8000 })
      return { account, listener: new Listener(duet, way, { key, request }) }
    }),
  )
  await eventually(
    () => upstream.requests.length,
    asked => asked === calls.length,
  )
  await leave(duet)
  sayIsAway()
  for (const { listener } of calls) expect(await listener.readUntil(text)).toBe(true)
  await comeBack(duet)
  sayIsBack()
  for (const { account, listener } of calls) {
    await listener.readAll()
    const books = await settledBooks(duet, account, 1)
    expectSound(books)
    expect(books.rows).toMatchObject([{ status: 'ok', ending: 'stop', tokens: { ...PROMPT, output } }])
    expect(nanosOf(books.account.spent)).toBe(costOf({ ...PROMPT, output }))
  }
  await expectVerified(duet)
  await duet.stop()
  await upstream.stop()
}
