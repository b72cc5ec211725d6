import type { ImagePlace } from '../core/ask.ts'
import type { Source } from '../core/source.ts'
import { applyEdits, editMessages, elements, member, rawAt, rawText } from './json.ts'

/** Stands where an image was the only content: neither dialect allows a message or a result with nothing in it. */
export const IMAGE_OMITTED = '[image omitted]'

const OMITTED = JSON.stringify({ type: 'text', text: IMAGE_OMITTED })

/** The same request without its images. Both dialects keep them in `messages[i].content[j]`, so one edit serves both. */
export function withoutImages(source: Source, images: readonly ImagePlace[]): string {
  const byMessage = Map.groupBy(images, image => image.message)
  return editMessages(source, (place, message) => {
    const paths = byMessage.get(place)?.map(({ part }) => part)
    return paths && withoutParts(message, paths, rawAt(message, 0, 'role') === '"tool"' ? [OMITTED] : [])
  })
}

/**
 * A message, or a tool result inside one, without the parts of its content that the paths lead to. What a tool has shown
 * leaves a word behind, or the model would think that the tool had nothing to show.
 */
function withoutParts(holder: string, paths: readonly (readonly number[])[], instead: readonly string[]): string {
  const content = member(holder, 0, 'content')
  if (!content) return holder
  const byPart = Map.groupBy(paths, ([first]) => first)
  const kept = elements(holder, content.start).flatMap((span, place) => {
    const inner = byPart.get(place)
    if (!inner) return [rawText(holder, span)]
    const deeper = inner.map(path => path.slice(1))
    if (deeper.every(path => path.length > 0)) return [withoutParts(rawText(holder, span), deeper, [OMITTED])]
    return instead
  })
  const left = kept.length > 0 ? kept : [OMITTED]
  return applyEdits(holder, [{ ...content, text: `[${left.join(',')}]` }])
}
