import type { Question } from './questions.ts'

export interface Asked {
  readonly ms: number
  readonly status: number
  /** Of a list, where there is more. */
  readonly next: string | undefined
}

const isInParts = ({ path }: Question): boolean => /^\/events|\.csv/.test(path)

/** From the question to the end of the answer, or to the first part of one that goes on. */
export async function ask(url: string, question: Question, token: string): Promise<Asked> {
  const leaving = new AbortController()
  const headers = { authorization: `Bearer ${token}` }
  const begun = performance.now()
  const response = await fetch(`${url}/api${question.path}`, { headers, signal: leaving.signal })
  const { status } = response
  if (isInParts(question)) {
    const reader = response.body?.getReader()
    await reader?.read()
    const ms = performance.now() - begun
    leaving.abort()
    return { ms, status, next: undefined }
  }
  const text = await response.text()
  const ms = performance.now() - begun
  const { next } = JSON.parse(text) as { readonly next?: string | null }
  return { ms, status, next: next ?? undefined }
}

/** The same list from where a page of it ended. */
export function after({ path, ...question }: Question, cursor: string): Question {
  const [where = '', search = ''] = path.split('?')
  const query = new URLSearchParams(search)
  query.set('cursor', cursor)
  return { ...question, path: `${where}?${query}` }
}
