import { type Signal, signal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import type { ChannelView } from '../../../src/admin/contract.ts'
import { readCapabilities, readList, readNumber, writeCapabilities } from './words.ts'

/** A channel while it is written: what the fields of the form hold. */
export interface Draft {
  readonly name: Signal<string>
  /** Empty for an upstream that is described by hand. */
  readonly vendor: Signal<string>
  readonly protocol: Signal<'chat' | 'messages'>
  readonly baseUrl: Signal<string>
  readonly keys: Signal<readonly Secret[]>
  /** Those that the vendor is known for, all there are, or some; but for the first, each of them is `chosen`. */
  readonly choice: Signal<'preset' | 'catalog' | 'chosen'>
  /** Ids of the catalog, each with the name that the upstream knows; an empty one means the same name. */
  readonly chosen: Signal<ReadonlyMap<string, string>>
  readonly priority: Signal<string>
  readonly weight: Signal<string>
  readonly groups: Signal<string>
  readonly connect: Signal<string>
  readonly firstByte: Signal<string>
  readonly idle: Signal<string>
  readonly total: Signal<string>
  /** Left alone for a while when it keeps failing. */
  readonly hasBreaker: Signal<boolean>
  readonly failures: Signal<string>
  readonly coolDown: Signal<string>
  readonly coolDownMax: Signal<string>
  readonly capabilities: Signal<string>
}

/** A credential that is being written. It has no name until it is stored, so it is counted. */
export interface Secret {
  readonly id: number
  readonly value: Signal<string>
}

let secrets = 0

export const newSecret = (): Secret => ({ id: ++secrets, value: signal('') })

type Words = Readonly<Record<string, unknown>>

/** Starts from what the console has stored, which is less than what is in force: the rest are defaults. */
export function useDraft(channel?: ChannelView): Draft {
  return useMemo(() => {
    const words: Words = channel?.settings ?? {}
    const timeout = (words.timeout ?? {}) as Words
    const breaker = (words.breaker || {}) as Words
    return {
      name: signal(channel?.name ?? ''),
      vendor: signal(textOf(words.vendor)),
      protocol: signal(words.protocol === 'messages' ? 'messages' : 'chat'),
      baseUrl: signal(textOf(words.base_url)),
      keys: signal([newSecret()]),
      choice: signal(words.models === undefined && words.vendor !== undefined ? 'preset' : 'chosen'),
      chosen: signal(chosenOf(words.models)),
      priority: signal(textOf(words.priority)),
      weight: signal(textOf(words.weight)),
      groups: signal(Array.isArray(words.groups) ? words.groups.join(', ') : ''),
      connect: signal(textOf(timeout.connect)),
      firstByte: signal(textOf(timeout.first_byte)),
      idle: signal(textOf(timeout.idle)),
      total: signal(textOf(timeout.total)),
      hasBreaker: signal(words.breaker !== false),
      failures: signal(textOf(breaker.failures)),
      coolDown: signal(textOf(breaker.cool_down)),
      coolDownMax: signal(textOf(breaker.cool_down_max)),
      capabilities: signal(writeCapabilities(words.capabilities)),
    }
  }, [channel?.name])
}

const textOf = (value: unknown): string => (value === undefined || value === null ? '' : String(value))

function chosenOf(models: unknown): ReadonlyMap<string, string> {
  if (Array.isArray(models)) return new Map(models.map(id => [String(id), '']))
  return new Map(Object.entries((models ?? {}) as Words).map(([id, name]) => [id, name === id ? '' : String(name)]))
}

/** In the words of the configuration file; null for what is left to its default. Undefined if it cannot be read. */
export function settingsOf(draft: Draft): Record<string, unknown> | undefined {
  const capabilities = readCapabilities(draft.capabilities.value)
  if (capabilities === undefined) return undefined
  const groups = readList(draft.groups.value)
  const isCustom = draft.vendor.value === ''
  return {
    vendor: isCustom ? null : draft.vendor.value,
    protocol: isCustom ? draft.protocol.value : null,
    base_url: draft.baseUrl.value.trim() || null,
    models: modelsOf(draft),
    priority: readNumber(draft.priority.value),
    weight: readNumber(draft.weight.value),
    groups: groups.length > 0 ? groups : null,
    timeout: orNull({
      connect: draft.connect.value.trim(),
      first_byte: draft.firstByte.value.trim(),
      idle: draft.idle.value.trim(),
      total: draft.total.value.trim(),
    }),
    breaker: draft.hasBreaker.value && breakerOf(draft),
    capabilities: orNull(capabilities),
  }
}

const breakerOf = ({ failures, coolDown, coolDownMax }: Draft): Words | null =>
  orNull({
    failures: readNumber(failures.value) ?? '',
    cool_down: coolDown.value.trim(),
    cool_down_max: coolDownMax.value.trim(),
  })

/** Ids that it would serve. */
export const servedIds = ({ vendor, choice, chosen }: Draft, presetIds: readonly string[]): readonly string[] =>
  vendor.value !== '' && choice.value === 'preset' ? presetIds : [...chosen.value.keys()]

/** A plain list where every name agrees, else each id with its name. */
function modelsOf({ vendor, choice, chosen }: Draft): unknown {
  if (vendor.value !== '' && choice.value === 'preset') return null
  const entries = [...chosen.value].map(([id, name]) => [id, name.trim()] as const)
  if (entries.length === 0) return null
  if (entries.every(([, name]) => name === '')) return entries.map(([id]) => id)
  return Object.fromEntries(entries.map(([id, name]) => [id, name || id]))
}

function orNull(words: Words): Words | null {
  const given = Object.entries(words).filter(([, value]) => value !== '')
  return given.length > 0 ? Object.fromEntries(given) : null
}

export const secretsOf = ({ keys }: Draft): string[] =>
  keys.value.map(({ value }) => value.value.trim()).filter(secret => secret !== '')

export const withoutNulls = (words: Words): Words =>
  Object.fromEntries(Object.entries(words).filter(([, value]) => value !== null))
