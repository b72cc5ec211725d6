/** What a browser says of itself, made readable. Most claim to be others too, so the more special ones come first. */
const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdg\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bFirefox\//, 'Firefox'],
  [/\b(Headless)?Chrom(e|ium)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
  [/^curl\//, 'curl'],
]

const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/iPhone|iPad/, 'iOS'],
  [/Android/, 'Android'],
  [/Mac OS X|Macintosh/, 'macOS'],
  [/Windows/, 'Windows'],
  [/CrOS/, 'ChromeOS'],
  [/Linux/, 'Linux'],
]

export function browserOf(client: string): {
  readonly browser: string | undefined
  readonly system: string | undefined
} {
  const find = (rows: typeof BROWSERS) => rows.find(([pattern]) => pattern.test(client))?.[1]
  return { browser: find(BROWSERS), system: find(SYSTEMS) }
}
