import type { Fields } from '../fields.ts'

/** Of all numbers that the keywords allow, a plain one; `ordinal` asks for the n-th where items must differ. */
export function numberFor(keywords: Fields, type: 'integer' | 'number', ordinal: number): number | undefined {
  const step = stepOf(keywords, type)
  const least = Math.max(finite(keywords.minimum, -Infinity), finite(keywords.exclusiveMinimum, -Infinity))
  const most = Math.min(finite(keywords.maximum, Infinity), finite(keywords.exclusiveMaximum, Infinity))

  const stride = step ?? 1
  const plain = [stride, 0, Math.ceil(least / stride) * stride, Math.floor(most / stride) * stride]
  const candidates = [...plain, least, most, (least + most) / 2].flatMap(number => [
    number + ordinal * stride,
    number + stride,
    number - stride,
    number,
  ])
  return candidates.find(number => Number.isFinite(number) && allows(keywords, number) && isMultiple(number, step))
}

function stepOf({ multipleOf }: Fields, type: 'integer' | 'number'): number | undefined {
  const step = finite(multipleOf, 0)
  if (step <= 0) return type === 'integer' ? 1 : undefined
  if (type === 'number' || Number.isInteger(step)) return step
  const whole = Array.from({ length: 1000 }, (_, at) => step * (at + 1)).find(Number.isInteger)
  return whole ?? 1
}

function allows(keywords: Fields, number: number): boolean {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = keywords
  if (number < finite(minimum, -Infinity) || number > finite(maximum, Infinity)) return false
  if (number <= finite(exclusiveMinimum, -Infinity) || number >= finite(exclusiveMaximum, Infinity)) return false
  // The old form of the two keywords: a flag beside the bound.
  return !(exclusiveMinimum === true && number === minimum) && !(exclusiveMaximum === true && number === maximum)
}

function isMultiple(number: number, step: number | undefined): boolean {
  if (step === undefined) return true
  const times = number / step
  return Math.abs(times - Math.round(times)) < 1e-9
}

function finite(value: unknown, otherwise: number): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : otherwise
}
