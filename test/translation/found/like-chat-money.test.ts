import { expect, test } from 'bun:test'
import { costOf, dollarsOf, PROMPT, QUESTION, useLedger } from '../../ledger/stage.ts'
import { chatFrame } from '../../pairs/wire.ts'
import { CHAT, framesOf, post, user } from '../../support/http.ts'
import { eventStream } from '../../support/upstream.ts'
import { idOf, newCaller } from '../../support/wire.ts'
import { chatFolded } from '../rules/stage.ts'

/** An upstream that calls every chunk the last one must not write for free. */

const stage = useLedger()

const PIECE_TOKENS = 100
const piece = '.'.repeat(4 * PIECE_TOKENS)

test('a stream with a reason on every chunk ends where the money does', async () => {
  const balance = costOf({ input: PROMPT, output: 50 * PIECE_TOKENS })
  const caller = await newCaller(stage.duet, { balance: dollarsOf(balance) })
  const chunk = chatFrame({ choices: [{ index: 0, delta: { content: piece }, finish_reason: 'stop' }] })
  stage.answer = () => eventStream(Array.from({ length: 200 }, () => chunk))
  const asked = { model: 'acme/chat', messages: user(QUESTION), stream: true }
  const answer = await post(stage.duet, CHAT, asked, { key: caller.key })
  const { content, finish } = chatFolded(framesOf(answer.text))
  expect({ pieces: content.length / piece.length, finish }).toEqual({ pieces: 51, finish: 'length' })
  const row = await stage.receipt(idOf(answer))
  expect(row).toMatchObject({ ending: 'funds', source: 'counted', tokens: { output: 50 * PIECE_TOKENS } })
  expect(await stage.balance(caller.account)).toBe(0n)
})
