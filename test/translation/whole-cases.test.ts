import { describe, test } from 'bun:test'
import { caseOf, casesOf } from './cases.ts'
import { sceneOf, useCases } from './play.ts'
import { wholeClaims } from './whole-claims.ts'

const stage = useCases()

describe(`H-14: ${caseOf('H-14').title}`, () => {
  for (const each of casesOf('stream')) {
    test(`${each.id}: ${each.title}`, async () => {
      for (const claim of Object.values(wholeClaims(each.id)['H-14'] ?? {})) await claim(sceneOf(each), stage)
    })
  }
})
