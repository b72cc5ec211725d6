import type { Ask } from '../core/ask.ts'
import type { Model } from '../core/catalog.ts'
import { newHex } from '../core/ids.ts'
import type { View } from '../protocol/protocol.ts'

interface Occasion {
  readonly model: Model
  readonly startedAt: number
  readonly promptEstimate: number
}

/** How the answer to a call presents itself: as it was asked for, under an id of its own. */
export function viewOf(ask: Ask, { model, startedAt, promptEstimate }: Occasion): View {
  const { includeUsage, choices, showThinking, textTools, legacyCalls, wantsJson } = ask
  const createdSeconds = Math.floor(startedAt / 1000)
  const own = { id: newHex(16), model: model.id, createdSeconds, promptEstimate }
  return { ...own, includeUsage, choices, showThinking, textTools, legacyCalls, wantsJson }
}
