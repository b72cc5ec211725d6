import { test } from 'bun:test'
import type { Case } from './cases.ts'
import type { CaseStage, Scene } from './play.ts'

/** A sentence of a case as code: plays what it needs and throws if the sentence is not true. */
export type Claim = (scene: Scene, stage: CaseStage) => void | Promise<void>

/** By the id of the case, then by the sentence: one of its `assert`, or words of its title. */
export type Claims = Readonly<Record<string, Readonly<Record<string, Claim>>>>

/** One test for each sentence about a case. */
export function testClaims(each: Case, claims: Claims, run: (claim: Claim) => void | Promise<void>): void {
  for (const [sentence, claim] of Object.entries(claims[each.id] ?? {})) {
    test(`${each.id}: ${each.title}: ${sentence}`, () => run(claim))
  }
}

/** Sentences that no code stands for, and code that stands for no sentence; both are mistakes. */
export function unmatched(each: Case, claims: Claims): readonly string[] {
  const made = Object.keys(claims[each.id] ?? {})
  const said = each.expected.assert ?? []
  const missing = said.filter(sentence => !made.includes(sentence))
  const needless = made.filter(sentence => !said.includes(sentence) && !each.title.includes(sentence))
  return [...missing, ...needless].map(sentence => `${each.id}: ${sentence}`)
}
