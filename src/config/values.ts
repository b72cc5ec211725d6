import { z } from 'zod'

// It would write code for every schema that it checks something with: that pays after thousands of checks, and a
// configuration is checked once.
z.config({ jitless: true })

/** A value from the environment is text; where a number or a switch belongs, it is read as one. */
const fromText = (value: unknown): unknown => {
  if (value === 'true' || value === 'false') return value === 'true'
  return typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value
}

export const number = z.preprocess(fromText, z.number())
export const integer = z.preprocess(fromText, z.int())
export const count = z.preprocess(fromText, z.int().min(1))
export const flag = z.preprocess(fromText, z.boolean())

export const dollars = z.preprocess(
  fromText,
  z
    .number()
    .min(0)
    .max(1_000_000)
    .refine(price => !(price > 0 && price < 1e-9), 'is too small to be counted; prices have at most nine decimals'),
)

export const duration = z
  .string()
  .regex(/^\d+(ms|s|m)$/, 'must be a duration such as 500ms, 5s or 2m')
  .transform(text => Number.parseInt(text, 10) * ({ ms: 1, s: 1_000, m: 60_000 }[text.replace(/\d+/, '')] ?? 1))
  .refine(ms => ms > 0 && ms <= 3_600_000, 'must be between 1ms and 60m')
