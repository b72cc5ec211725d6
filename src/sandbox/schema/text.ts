import type { Fields } from '../fields.ts'
import { sampleOf } from './pattern.ts'

/** Schemas may ask for any length; nobody needs more to see that it was kept. */
const LENGTH_MAX = 2_000

const FORMATS = new Map(
  Object.entries({
    date: '2026-01-15',
    'date-time': '2026-01-15T09:30:00Z',
    time: '09:30:00Z',
    duration: 'P1D',
    email: 'someone@example.com',
    'idn-email': 'someone@example.com',
    hostname: 'example.com',
    'idn-hostname': 'example.com',
    ipv4: '192.0.2.1',
    ipv6: '2001:db8::1',
    uri: 'https://example.com/',
    url: 'https://example.com/',
    iri: 'https://example.com/',
    'uri-reference': '/example',
    'iri-reference': '/example',
    'uri-template': '/{example}',
    uuid: '123e4567-e89b-42d3-a456-426614174000',
    'json-pointer': '/example',
    'relative-json-pointer': '0/example',
    regex: '.*',
    byte: 'c2FuZGJveA==',
  }),
)

/** The hint where nothing but a length constrains the text; `ordinal` makes texts differ where items must. */
export function textFor(keywords: Fields, hint: string, ordinal: number): string {
  const least = lengthOf(keywords.minLength, 0)
  const most = lengthOf(keywords.maxLength, LENGTH_MAX)
  const { format, pattern } = keywords

  if (typeof pattern === 'string') {
    const sample = sampleOfLength(pattern, { least, ordinal })
    if (sample !== undefined) return sample
  }
  const example = typeof format === 'string' ? FORMATS.get(format) : undefined
  return example ?? fitLength(ordinal === 0 ? hint : `${ordinal + 1} ${hint}`, least, most)
}

/** Repetitions are stretched one by one until the sample is long enough, so that it is not too long either. */
function sampleOfLength(pattern: string, { least, ordinal }: { least: number; ordinal: number }): string | undefined {
  for (let longer = 0; longer <= least; longer++) {
    const sample = sampleOf(pattern, { longer, ordinal })
    if (sample !== undefined && sample.length >= least) return sample
  }
  return sampleOf(pattern, { longer: 0, ordinal })
}

/** Lengths in schemas count characters, not the units of a JavaScript string. */
function fitLength(text: string, least: number, most: number): string {
  const letters = [...text].slice(0, most)
  const missing = Math.max(0, least - letters.length)
  return letters.join('') + ''.padEnd(missing, ' and so on')
}

function lengthOf(value: unknown, otherwise: number): number {
  return typeof value === 'number' && value >= 0 ? Math.min(Math.floor(value), LENGTH_MAX) : otherwise
}
