import type { Capabilities } from '../core/capabilities.ts'
import type { Turn } from '../core/turn.ts'
import { namesOf } from './loss.ts'

/** How freely a model may choose its words, as far as an upstream can be told; both dialects use the same names. */
export function encodeSampling({ temperature, topP, topK }: Turn, can: Capabilities) {
  if (!can.sampling) return {}
  return {
    temperature: temperature && Math.min(temperature, can.temperatureMax),
    top_p: can.temperatureXorTopP && temperature !== undefined ? undefined : topP,
    top_k: can.topK ? topK : undefined,
  }
}

export const lostSampling = ({ temperature, topP, topK }: Turn, body: Readonly<Record<string, unknown>>): string[] =>
  namesOf({
    temperature: temperature !== undefined && body.temperature === undefined,
    top_p: topP !== undefined && body.top_p === undefined,
    top_k: topK !== undefined && body.top_k === undefined,
  })
