import { isTooLittle } from '../../app/balance.ts'
import { compare, isZero, readAmount, subtract } from '../../app/decimal.ts'
import { t } from '../../app/language.ts'

/** What is odd about a cap that somebody types, as long as it can be read as one. */
export function capWarning(typed: string, spent: string): string | undefined {
  const texts = t().keys
  const cap = typed.trim() === '' ? undefined : readAmount(typed)
  if (cap === undefined) return undefined
  if (isZero(cap)) return texts.capZero
  if (compare(cap, spent) <= 0) return texts.capBelowSpent
  return isTooLittle(subtract(cap, spent)) ? texts.capTiny : undefined
}
