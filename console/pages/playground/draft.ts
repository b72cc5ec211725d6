import { isObject, parse } from './answer.ts'
import type { Lane } from './request.ts'
import { newSettings, type Settings } from './settings.ts'

/** What was set survives a reload, in this tab and for this user only. What was said does not: it may be private. */

const SETTINGS = 'duet.playground.settings'
const LANE = 'duet.playground.lane'

export function keepSettings(user: string, settings: Settings): void {
  const fields = Object.fromEntries(Object.entries(settings).map(([name, { value }]) => [name, value]))
  write(SETTINGS, { user, fields })
}

export function keptSettings(user: string | undefined): Settings {
  const settings = newSettings()
  const kept = read(SETTINGS)
  if (user === undefined || kept.user !== user || !isObject(kept.fields)) return settings
  for (const [name, field] of Object.entries(settings)) {
    const value = kept.fields[name]
    if (typeof value === typeof field.value) field.value = value
  }
  return settings
}

export const keepLane = ({ model, protocol }: Lane): void => write(LANE, { model, protocol })

export function keptLane(): Lane | undefined {
  const { model, protocol } = read(LANE)
  if (typeof model !== 'string' || (protocol !== 'chat' && protocol !== 'messages')) return undefined
  return { model, protocol }
}

export function forgetDraft(): void {
  try {
    sessionStorage.removeItem(SETTINGS)
    sessionStorage.removeItem(LANE)
  } catch {
    // Where storage is refused there is nothing to forget.
  }
}

function read(name: string) {
  try {
    const value = parse(sessionStorage.getItem(name) ?? '')
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

function write(name: string, value: object): void {
  try {
    sessionStorage.setItem(name, JSON.stringify(value))
  } catch {
    // Nothing is lost but a convenience.
  }
}
