import { expect, test } from 'bun:test'
import { vendorAnswer } from '../support/vendor.ts'
import { casesOf } from './cases.ts'
import { HTTP_CLAIMS } from './http-claims.ts'
import { type Scene, useCases } from './play.ts'

const stage = useCases()

const PLAIN: Scene = {
  pair: { client: 'messages', upstream: 'chat' },
  capabilities: {},
  body: {},
  answer: vendorAnswer,
}

// H-14 is played with every stream case, in a file of its own.
for (const each of casesOf('http').filter(({ id }) => id !== 'H-14')) {
  test(`${each.id}: ${each.title}`, async () => {
    const claims = Object.values(HTTP_CLAIMS[each.id] ?? {})
    expect(claims).not.toBeEmpty()
    for (const claim of claims) await claim(PLAIN, stage)
  })
}
