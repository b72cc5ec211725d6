/** Long enough to mean something by themselves, and yet they say nothing about a subject. */
const COMMON_WORDS = new Set(
  `about after again also always another answer anything because been before between both call come could current
  currently does doing done down each ever every everything example find first following from function general getting
  give given good have having hello help here however information input instead into just keep kind know like list long
  look made make many maybe more most much must name need never next nothing only other output over parameter please
  possible provide really request respond result return same should show since some something specific specified such
  sure take tell than thank that their them then there these they thing think this those through today tool under until
  used useful using value very want well were what whatever when where whether which while will with within without
  would your yours`.split(/\s+/),
)

const WORD_LENGTH_MIN = 4

/** The words that name a subject, in one case and number, so that `getForecasts` and "the forecast" meet. */
export function subjectWords(text: string): ReadonlySet<string> {
  const words = text
    .replaceAll(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}]+/u)
  return new Set(words.filter(isSubject).map(singular))
}

/** One line of at most the given length, and an ellipsis where something is missing. */
export function shorten(text: string, length: number): string {
  // Megabytes need not be searched for blanks to show their first words.
  const start = text.trimStart().slice(0, 16 * length)
  return clip(start.replaceAll(/\s+/g, ' ').trim(), length)
}

/** As it is, line breaks and all, up to the given length. */
export function clip(text: string, length: number): string {
  if (text.length <= length) return text
  // Half a surrogate pair cannot be written as UTF-8.
  return `${text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '')}…`
}

function isSubject(word: string): boolean {
  return word.length >= WORD_LENGTH_MIN && !COMMON_WORDS.has(word) && !COMMON_WORDS.has(singular(word))
}

function singular(word: string): string {
  if (word.endsWith('ies')) return `${word.slice(0, -3)}y`
  if (/(?:s|x|ch|sh)es$/.test(word)) return word.slice(0, -2)
  return /[^siu]s$/.test(word) ? word.slice(0, -1) : word
}
