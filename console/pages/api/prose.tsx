/** A sentence of the document, in which `code` stands between backticks. */
export function Prose({ text }: { readonly text: string }) {
  const parts = text.split('`')
  return <>{parts.map((part, place) => (place % 2 === 1 ? <code key={`${place} ${part}`}>{part}</code> : part))}</>
}
