import { z } from 'zod'

/** Words that every part of the contract uses. */

export const dollars = z.string().meta({ format: 'decimal', description: 'Dollars, exact: `12.50`, `0.000012345`.' })
export const time = z.string().meta({ format: 'date-time', description: 'ISO 8601, UTC.' })
export const count = z.int().min(0)
export const milliseconds = z.number().min(0)
export const protocol = z.enum(['chat', 'messages'])

export const list = <T extends z.ZodType>(item: T) =>
  z.strictObject({
    data: z.array(item).readonly(),
    next: z.string().nullable().describe('The `cursor` of the next page; null on the last.'),
  })

export interface List<T> {
  readonly data: readonly T[]
  readonly next: string | null
}

export const ErrorView = z.strictObject({
  error: z.strictObject({ code: z.string(), message: z.string(), param: z.string().optional() }),
})
export type ErrorView = z.infer<typeof ErrorView>
