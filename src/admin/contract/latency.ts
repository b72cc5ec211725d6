import { z } from 'zod'
import { count, milliseconds } from './common.ts'

export const LatencyView = z
  .strictObject({
    sample: count.describe('How many of the latest answered requests this was measured on.'),
    p50_ms: milliseconds.nullable(),
    p95_ms: milliseconds.nullable(),
    first_byte_p50_ms: milliseconds.nullable(),
    first_byte_p95_ms: milliseconds.nullable(),
  })
  .describe('Null where there is nothing to measure.')
export type LatencyView = z.infer<typeof LatencyView>
