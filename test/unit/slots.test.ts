import { describe, expect, test } from 'bun:test'
import type { Actor } from '../../src/admin/route.ts'
import { Slots } from '../../src/admin/slots.ts'
import type { User } from '../../src/core/people.ts'

const TOKEN: Actor = { role: 'admin', user: undefined, sessionId: undefined, renewal: undefined }
const actor = (id: string): Actor => ({ ...TOKEN, user: { id } as User })
const [ada, grace, linus] = [actor('ada'), actor('grace'), actor('linus')]

const newSlots = () => new Slots({ what: 'files', ofOneMax: 2, ofAllMax: 4 })
const staying = () => new AbortController().signal

describe('slots', () => {
  test('are so many for one, who is told when to come again', () => {
    const slots = newSlots()
    for (let count = 0; count < 2; count++) slots.take(ada, staying())
    expect(() => slots.take(ada, staying())).toThrow(
      expect.objectContaining({ status: 429, code: 'too_many_at_once', retryAfter: 5 }),
    )
    expect(() => slots.take(grace, staying())).not.toThrow()
  })

  test('are so many for all', () => {
    const slots = newSlots()
    for (const who of [ada, grace]) for (let count = 0; count < 2; count++) slots.take(who, staying())
    expect(() => slots.take(linus, staying())).toThrow(
      expect.objectContaining({ status: 503, code: 'too_many_at_once', retryAfter: 10 }),
    )
  })

  test('of the admin token are those of nobody else', () => {
    const slots = newSlots()
    for (let count = 0; count < 2; count++) slots.take(TOKEN, staying())
    expect(() => slots.take(TOKEN, staying())).toThrow()
    expect(() => slots.take(ada, staying())).not.toThrow()
  })

  test('are free again when their holder leaves, once, by whichever door', () => {
    const slots = newSlots()
    const leaving = new AbortController()
    const leave = slots.take(ada, leaving.signal)
    slots.take(ada, staying())
    leave()
    leaving.abort()
    leave()
    slots.take(ada, staying())
    expect(() => slots.take(ada, staying())).toThrow()
  })

  test('are free again when the caller has gone and nobody says so', () => {
    const slots = newSlots()
    for (let count = 0; count < 20; count++) {
      const leaving = new AbortController()
      slots.take(ada, leaving.signal)
      leaving.abort()
    }
    expect(() => slots.take(ada, staying())).not.toThrow()
  })

  test('are not taken by somebody who had gone before', () => {
    const slots = newSlots()
    for (let count = 0; count < 20; count++) slots.take(ada, AbortSignal.abort())
    expect(() => slots.take(ada, staying())).not.toThrow()
  })
})
