import type { Announcement } from '../app.ts'
import { VERSION } from '../version.ts'
import { samples } from './samples.ts'

/** What the start prints: addresses always, the first key once, and two lines that work when pasted. */
export function banner(app: Announcement): string {
  const base = `${app.url}/v1`
  const { firstKey } = app
  const lines = [
    `Duet ${VERSION} is listening.`,
    '',
    `  Base URL        ${base}`,
    `  Console         ${app.signInLink ?? app.consoleUrl}${app.signInLink ? '   (signs you in, once)' : ''}`,
    `  Management API  ${app.url}/api${app.adminTokenPath ? `   (token in ${app.adminTokenPath})` : ''}`,
    ...(firstKey ? [`  API key         ${firstKey}   (shown only this once)`] : []),
    ...app.notes.map(note => `  ${note[0]?.toUpperCase()}${note.slice(1)}`),
    ...(app.isSandbox
      ? ['', 'No upstream is configured: the built-in sandbox answers. See duet.yaml in the README.']
      : []),
    ...(firstKey ? ['', 'Try it:', '', ...tryIt(base, firstKey, app.sampleModel)] : []),
    '',
  ]
  return lines.join('\n')
}

function tryIt(base: string, key: string, model: string): string[] {
  const { chat, messages } = samples({ base, model, quote: text => `'${text}'`, key })
  return [chat, '', messages]
}
