import { cuts } from './cuts.ts'
import { endless } from './endless.ts'
import type { Fault } from './fault.ts'
import { brokenLines } from './lines.ts'
import { malformed } from './malformed.ts'
import { oddities } from './oddities.ts'
import { refusals } from './refusals.ts'
import type { Sending } from './sending.ts'

/** Everything that can go wrong with one answer. */
export const faultsOf = (sending: Sending): readonly Fault[] => [
  ...brokenLines(sending),
  ...refusals(sending),
  ...malformed(sending),
  ...cuts(sending),
  ...oddities(sending),
  ...endless(sending),
]
