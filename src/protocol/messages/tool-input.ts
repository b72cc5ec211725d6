import { isJsonObject } from '../json.ts'
import { closeJson } from '../json-progress.ts'
import { rawJson } from '../raw-json.ts'

/** JSON text as it is; text that is no JSON object is wrapped, so that the turn survives and the model still sees it. */
export function toolInput(text: string): unknown {
  if (text.trim() === '' || text.trim() === 'null') return {}
  return isJsonObject(text) ? rawJson(text) : { raw_arguments: text }
}

/** The same of a call that the limit has cut: what is complete of it, as clients read it from a stream. */
export function cutToolInput(text: string): unknown {
  const closed = closeJson(text)
  return toolInput(isJsonObject(closed) ? closed : text)
}
