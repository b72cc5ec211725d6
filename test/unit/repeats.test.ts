import { describe, expect, test } from 'bun:test'
import { openBody, type StoredAnswer, sealBody } from '../../src/core/repeats.ts'
import { createSealer } from '../../src/core/seal.ts'
import { type Inquiry, NOTHING_READ } from '../../src/gateway/refusals.ts'
import { Repeats } from '../../src/gateway/repeats.ts'
import { Stay } from '../../src/gateway/stay.ts'
import { PROTOCOLS } from '../../src/protocol/protocols.ts'
import { SqlAnswers } from '../../src/store/answers.ts'
import { EmbeddedDatabase } from '../../src/store/sqlite/database.ts'

const KB = 1024
const NOW = 1_000_000
const sealer = createSealer('a secret of the tests')

/** Its seal has three quarters of it. */
const noise = (bytes: number): string =>
  Buffer.from(crypto.getRandomValues(new Uint8Array((bytes * 3) / 4))).toString('base64')

describe('a body', () => {
  test('that was sealed says how large it is before it is unpacked', async () => {
    for (const text of ['short', 'same '.repeat(100_000)]) {
      const opened = openBody(await sealBody(Buffer.from(text), sealer), sealer)
      expect(opened.bytes).toBe(text.length)
      expect(Buffer.from(await opened.unpack()).toString()).toBe(text)
    }
  })

  test('cannot be opened with another secret', async () => {
    const sealed = await sealBody(Buffer.from('text'), sealer)
    expect(() => openBody(sealed, createSealer('another secret'))).toThrow()
  })
})

function startKeeping(stored: number) {
  const db = new EmbeddedDatabase({ path: ':memory:', durability: 'process' })
  const answers = new SqlAnswers(db)
  const limits = { answer: 64 * KB, recorded: 1024 * KB, replayed: 1024 * KB, stored }
  const repeats = new Repeats({ answers, sealer, refusals: { note: () => {} }, clock: () => NOW, limits })
  let asked = 0

  /** A call that is answered with so much; what is to be stored of it. */
  const answered = async (keyId: string, bytes: number): Promise<StoredAnswer> => {
    let kept: StoredAnswer | undefined
    await repeats.answer(inquiryOf(keyId, `name ${++asked}`), async ({ repeatable }) => {
      const text = noise(bytes)
      kept = await repeatable?.answered({ text, headers: {}, isStream: false })
      return { headers: {}, body: text }
    })
    if (!kept) throw new Error('nothing was said of what is to be stored')
    return kept
  }
  const store = ({ keyId, nameHash, sealed }: StoredAnswer, expiresAt: number) =>
    db.run(
      'INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
      keyId,
      nameHash,
      '',
      '',
      '{}',
      0,
      sealed ?? null,
      expiresAt,
    )
  return { repeats, answers, answered, store }
}

const inquiryOf = (keyId: string, name: string, requestId = name): Inquiry => ({
  call: {
    requestId,
    startedAt: NOW,
    secret: undefined,
    headers: new Headers({ 'idempotency-key': name }),
    signal: new AbortController().signal,
    stay: new Stay(),
    bytes: async () => new TextEncoder().encode('{}'),
  },
  caller: {
    ...{ keyId, accountId: 'account', group: 'default', models: undefined, isAdmins: false, keepDays: undefined },
    ...{ maxConcurrent: undefined, maxPerMinute: undefined },
  },
  protocol: PROTOCOLS.chat,
  ...NOTHING_READ,
})

describe('what may be stored', () => {
  test('is half of it for one key alone, and something for every other', async () => {
    const { answered } = startKeeping(160 * KB)
    expect((await answered('one', 60 * KB)).sealed).toBeDefined()
    expect((await answered('one', 60 * KB)).sealed).toBeUndefined()
    expect((await answered('two', 20 * KB)).sealed).toBeDefined()
  })

  test('is counted anew when answers expire', async () => {
    const { repeats, answers, answered, store } = startKeeping(110 * KB)
    const first = await answered('one', 60 * KB)
    store(first, NOW)
    store(await answered('two', 20 * KB), NOW + 1)
    expect((await answered('one', 60 * KB)).sealed).toBeUndefined()
    await repeats.forgetExpired()
    expect((await answered('one', 60 * KB)).sealed).toBeDefined()
    const left = await answers.purge(NOW)
    expect([...left.keys()]).toEqual(['two'])
    expect(left.get('two')).toBeGreaterThan(10 * KB)
  })
})

describe('what may be in memory', () => {
  test('of calls under way, one key has half, and the others are kept still', async () => {
    const db = new EmbeddedDatabase({ path: ':memory:', durability: 'process' })
    const limits = { answer: 64 * KB, recorded: 100 * KB, replayed: KB, stored: 1024 * KB }
    const deps = { answers: new SqlAnswers(db), sealer, refusals: { note: () => {} }, clock: () => NOW, limits }
    const repeats = new Repeats(deps)
    /** A stream that has said so much, and goes on. */
    const begin = async (keyId: string, name: string, bytes: number) => {
      const body = new ReadableStream<Uint8Array>({ start: controller => controller.enqueue(new Uint8Array(bytes)) })
      const ended = new Promise<undefined>(() => {})
      const { body: stream } = await repeats.answer(inquiryOf(keyId, name), async () => ({ headers: {}, body, ended }))
      await (stream as ReadableStream<Uint8Array>).getReader().read()
    }
    const repeated = (keyId: string, name: string) =>
      repeats
        .answer(inquiryOf(keyId, name, 'a repeat'), () => Promise.reject(new Error('was made again')))
        .then(
          ({ replayOf }) => replayOf,
          error => error.failure.kind,
        )
    await begin('one', 'a', 40 * KB)
    await begin('one', 'b', 40 * KB)
    await begin('two', 'c', 20 * KB)
    expect([await repeated('one', 'a'), await repeated('one', 'b'), await repeated('two', 'c')]).toEqual([
      'a',
      'answer-not-kept',
      'c',
    ])
  })
})
