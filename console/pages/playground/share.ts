import { href, query } from '../../app/router.ts'
import type { Output } from './request.ts'
import type { Settings } from './settings.ts'

/** A link to what is about to be asked. It stands behind the `#`, which browsers keep to themselves. */

export function shareLink(prompt: string, settings: Settings): string {
  const said = {
    prompt,
    system: settings.system.value,
    tools: settings.hasTools.value ? settings.tools.value : '',
    output: settings.output.value === 'text' ? '' : settings.output.value,
  }
  const hash = new URLSearchParams(Object.entries(said).filter(([, value]) => value !== ''))
  return `${location.origin}${href('/playground', Object.fromEntries(query.value))}${hash.size > 0 ? `#${hash}` : ''}`
}

/** Fills in what a shared link says. */
export function takeShared(hash: string, settings: Settings): string | undefined {
  if (hash === '') return undefined
  const said = new URLSearchParams(hash.slice(1))
  settings.system.value = said.get('system') ?? settings.system.value
  const tools = said.get('tools')
  if (tools !== null) {
    settings.hasTools.value = true
    settings.tools.value = tools
  }
  const output = said.get('output')
  if (isOutput(output)) settings.output.value = output
  return said.get('prompt') ?? undefined
}

const isOutput = (value: string | null): value is Output => value === 'json' || value === 'schema'
