import type { App } from '../app.ts'
import { VERSION } from '../version.ts'

/** What the start prints: addresses always, the first key once, and two lines that work when pasted. */
export function banner(app: App): string {
  const base = `${app.url}/v1`
  const { firstKey } = app
  const lines = [
    `Duet ${VERSION} is listening.`,
    '',
    `  Base URL        ${base}`,
    `  Management API  ${app.url}/api${app.adminTokenPath ? `   (token in ${app.adminTokenPath})` : ''}`,
    ...(firstKey ? [`  API key         ${firstKey}   (shown only this once)`] : []),
    ...app.notes.map(note => `  ${note[0]?.toUpperCase()}${note.slice(1)}`),
    ...(app.isSandbox
      ? ['', 'No upstream is configured: the built-in sandbox answers. See duet.yaml in the README.']
      : []),
    ...(firstKey ? ['', 'Try it:', '', ...samples(base, firstKey, sampleModel(app))] : []),
    '',
  ]
  return `${lines.join('\n')}\n`
}

function sampleModel({ catalog }: App): string {
  const models = catalog.listed('default')
  return (models.find(({ recommended }) => recommended) ?? models[0])?.id ?? 'vendor/model'
}

function samples(base: string, key: string, model: string): string[] {
  const chat = { model, messages: [{ role: 'user', content: 'Hello' }] }
  const messages = { model, max_tokens: 200, messages: [{ role: 'user', content: 'Hello' }] }
  return [
    `curl ${base}/chat/completions -H 'authorization: Bearer ${key}' -d '${JSON.stringify(chat)}'`,
    '',
    `curl ${base}/messages -H 'x-api-key: ${key}' -d '${JSON.stringify(messages)}'`,
  ]
}
