import type { ImagePlace } from '../core/ask.ts'
import { applyEdits, type Edit, elements, member, rawText, root, type Span } from './json.ts'

/** Stands where an image was the only content: neither dialect allows a message or a result with nothing in it. */
export const IMAGE_OMITTED = '[image omitted]'

/** The same request without its images. Both dialects keep them in `messages[i].content[j]`, so one edit serves both. */
export function withoutImages(text: string, images: readonly ImagePlace[]): string {
  const messages = member(text, root(text), 'messages')
  if (!messages) return text
  const spans = elements(text, messages.start)
  const byMessage = Map.groupBy(images, image => image.message)
  const edits = [...byMessage].flatMap(([message, places]) => editContent(text, spans[message], places))
  return applyEdits(text, edits)
}

function editContent(text: string, holder: Span | undefined, places: readonly ImagePlace[]): Edit[] {
  const content = holder && member(text, holder.start, 'content')
  if (!content) return []
  const parts = elements(text, content.start)
  const direct = new Set(places.filter(({ part }) => part.length === 1).map(({ part }) => part[0]))
  const nested = Map.groupBy(
    places.filter(({ part }) => part.length > 1),
    ({ part }) => part[0] as number,
  )
  const kept = parts
    .map((span, place) => {
      const inner = nested.get(place)
      if (!inner) return rawText(text, span)
      const edits = editContent(
        text,
        span,
        inner.map(({ part, ...image }) => ({ ...image, part: part.slice(1) })),
      )
      return applyEdits(
        rawText(text, span),
        edits.map(edit => ({ ...edit, start: edit.start - span.start, end: edit.end - span.start })),
      )
    })
    .filter((_, place) => !direct.has(place))
  const left = kept.length > 0 ? kept : [JSON.stringify({ type: 'text', text: IMAGE_OMITTED })]
  return [{ start: content.start, end: content.end, text: `[${left.join(',')}]` }]
}
