import type { CacheMark } from '../../core/turn.ts'

/** More marks than this are refused; the latest are worth the most. */
export const CACHE_MARKS_MAX = 4

export const mark = (cache: CacheMark | undefined) => (cache ? { cache_control: cache } : {})

/** Takes the earliest marks out until few enough are left; says whether there were more. */
export function limitMarks({ tools, system, messages }: Record<string, unknown>, most: number): boolean {
  const blocks = [tools, system, messages].flatMap(list => (Array.isArray(list) ? (list as Marked[]) : []))
  const marked = blocks
    .flatMap(block => (Array.isArray(block.content) ? (block.content as Marked[]) : [block]))
    .filter(block => block.cache_control)
  for (const block of marked.slice(0, Math.max(0, marked.length - most))) delete block.cache_control
  return marked.length > most
}

interface Marked {
  cache_control?: unknown
  readonly content?: unknown
}
