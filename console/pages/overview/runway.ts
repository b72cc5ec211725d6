import { number } from '../../app/format.ts'
import { t } from '../../app/language.ts'

const YEAR_DAYS = 365

/** "Lasts about 12 days at this rate". */
export function lastsText(days: number): string {
  const texts = t().overview
  if (days < 1) return texts.lastsADay
  if (days > YEAR_DAYS) return texts.lastsLong
  const whole = Math.round(days)
  return texts.lastsDays(whole, number(whole))
}
