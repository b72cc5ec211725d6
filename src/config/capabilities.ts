import { z } from 'zod'
import { type Capabilities, operatorsName } from '../core/capabilities.ts'
import { EFFORTS } from '../core/effort.ts'
import { flag, number } from './values.ts'

type Fields = { readonly [Name in keyof Capabilities]: z.ZodType<Capabilities[Name]> }

/** Every capability once; the file writes them with underscores. */
const FIELDS: Fields = {
  maxTokensField: z.enum(['max_tokens', 'max_completion_tokens']),
  sampling: flag,
  temperatureMax: number.refine(value => value > 0, 'must be above zero'),
  temperatureXorTopP: flag,
  topK: flag,
  tools: flag,
  parallelTools: flag,
  strictTools: flag,
  structuredOutput: flag,
  jsonObject: flag,
  vision: flag,
  documents: flag,
  midSystem: flag,
  developerRole: flag,
  prefill: flag,
  adaptiveThinking: flag,
  disableThinking: flag,
  efforts: z.array(z.enum(EFFORTS)),
  reasoningReplay: flag,
  cacheControl: flag,
  userField: z.enum(['user', 'safety_identifier', 'none']),
  serviceTier: flag,
  streamUsage: flag,
  partsArray: flag,
  contentArrayInTool: flag,
  repair: flag,
}

const NAMES = new Map(Object.keys(FIELDS).map(name => [operatorsName(name), name]))

/** `capabilities:` of a channel: those that differ from what its dialect or its vendor suggests. */
export const capabilities = z
  .strictObject(
    Object.fromEntries(Object.entries(FIELDS).map(([name, type]) => [operatorsName(name), type.optional()])),
  )
  .transform(
    given => Object.fromEntries(Object.entries(given).map(([name, value]) => [NAMES.get(name), value])) as Given,
  )

type Given = Partial<Capabilities>
