/** What operators write by hand in a form, as the management API takes it. */

type Json = Record<string, unknown>

/**
 * Capabilities: a JSON object, or one `name: value` a line as it stands in `duet.yaml`. Undefined for what is neither;
 * whether the names and values are right is the server's to say.
 */
export function readCapabilities(text: string): Json | undefined {
  const trimmed = text.trim()
  if (trimmed.startsWith('{')) return readJson(trimmed)
  const lines = trimmed.split('\n').map(line => line.replace(/(^|\s)#.*$/, '').trim())
  const given: Json = {}
  for (const line of lines.filter(line => line !== '')) {
    const [, name, value] = /^([\w-]+)\s*:\s*(.+)$/.exec(line) ?? []
    if (name === undefined || value === undefined) return undefined
    given[name] = readValue(value)
  }
  return given
}

function readJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

/** `[low, high]`, `true`, `1.5`, `"quoted"` or a plain word. */
function readValue(text: string): unknown {
  const list = /^\[(.*)\]$/.exec(text)?.[1]
  if (list !== undefined)
    return list
      .split(',')
      .map(item => item.trim())
      .filter(Boolean)
      .map(readValue)
  try {
    return JSON.parse(text)
  } catch {
    return text.replace(/^'(.*)'$/, '$1')
  }
}

export const writeCapabilities = (given: unknown): string =>
  given !== null && typeof given === 'object'
    ? Object.entries(given)
        .map(([name, value]) => `${name}: ${Array.isArray(value) ? `[${value.join(', ')}]` : String(value)}`)
        .join('\n')
    : ''

/** A number where there is one; anything else goes on as it is, for the server to refuse. */
export function readNumber(text: string): number | string | null {
  const trimmed = text.trim()
  if (trimmed === '') return null
  return Number.isFinite(Number(trimmed)) ? Number(trimmed) : trimmed
}

export const readList = (text: string): string[] =>
  text
    .split(/[,\s]+/)
    .map(item => item.trim())
    .filter(Boolean)
