import type { ImagePlace } from '../core/ask.ts'
import { applyEdits, editMessages, elements, member, rawText } from './json.ts'

/** Stands where an image was the only content: neither dialect allows a message or a result with nothing in it. */
export const IMAGE_OMITTED = '[image omitted]'

/** The same request without its images. Both dialects keep them in `messages[i].content[j]`, so one edit serves both. */
export function withoutImages(text: string, images: readonly ImagePlace[]): string {
  const byMessage = Map.groupBy(images, image => image.message)
  return editMessages(text, (place, span) => {
    const paths = byMessage.get(place)?.map(({ part }) => part)
    return paths && withoutParts(rawText(text, span), paths)
  })
}

/** A message, or a tool result inside one, without the parts of its content that the paths lead to. */
function withoutParts(holder: string, paths: readonly (readonly number[])[]): string {
  const content = member(holder, 0, 'content')
  if (!content) return holder
  const byPart = Map.groupBy(paths, ([first]) => first)
  const kept = elements(holder, content.start).flatMap((span, place) => {
    const inner = byPart.get(place)
    if (!inner) return [rawText(holder, span)]
    const deeper = inner.map(path => path.slice(1))
    return deeper.some(path => path.length === 0) ? [] : [withoutParts(rawText(holder, span), deeper)]
  })
  const left = kept.length > 0 ? kept : [JSON.stringify({ type: 'text', text: IMAGE_OMITTED })]
  return applyEdits(holder, [{ ...content, text: `[${left.join(',')}]` }])
}
