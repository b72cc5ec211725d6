import type { JsonBody } from '../../support/duet.ts'

/** Collects what is wrong with a request. */
export class Faults {
  readonly found = new Set<string>()

  check(rule: string, holds: boolean): void {
    if (!holds) this.found.add(rule)
  }

  keys(where: string, value: JsonBody, known: string): void {
    for (const key of Object.keys(value)) this.check(`${where} has no ${key}`, known.split(' ').includes(key))
  }
}

export const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const isText = (value: unknown): value is string => typeof value === 'string'

export const isBlank = (value: unknown): boolean => isText(value) && value.trim() === ''

export const isCount = (value: unknown, most = Number.MAX_SAFE_INTEGER): boolean =>
  Number.isInteger(value) && (value as number) >= 1 && (value as number) <= most

export const sameLists = (first: readonly unknown[], second: readonly unknown[]): boolean =>
  first.length === second.length && first.every((item, place) => item === second[place])

export const areUnique = (values: readonly unknown[]): boolean => new Set(values).size === values.length
