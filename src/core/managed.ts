import type { JsonObject } from './ask.ts'

/** What was defined in the console, in the words of `duet.yaml`, and what was paused there. */

export interface ManagedModel {
  readonly id: string
  /** Everything but the id. */
  readonly settings: JsonObject
}

export interface ManagedChannel {
  readonly name: string
  /** Everything but the name and the keys. */
  readonly settings: JsonObject
  readonly keys: readonly SealedKey[]
}

export interface SealedKey {
  readonly id: string
  readonly hint: string
  readonly sealed: string
}

/** Of a channel, or of one of its keys; of any origin, because a pause is no definition. */
export interface Pause {
  readonly channel: string
  readonly keyId: string | undefined
}

export interface Managed {
  /** Oldest first. */
  readonly models: readonly ManagedModel[]
  readonly channels: readonly ManagedChannel[]
  readonly pauses: readonly Pause[]
}

export interface ManagedStore {
  managed(): Promise<Managed>
  /** Made, or changed as a whole. */
  putModel(model: ManagedModel, now: number): Promise<void>
  removeModel(id: string): Promise<void>
  /** Made, or changed as a whole; keys that are not there any more are forgotten, with their pauses. */
  putChannel(channel: ManagedChannel, now: number): Promise<void>
  /** With its keys and its pauses. */
  removeChannel(name: string): Promise<void>
  setPaused(pause: Pause, isPaused: boolean, now: number): Promise<void>
}

/** What operators change the catalog with. */
export interface CatalogEditor {
  /** What the console defines, without credentials. */
  readonly managed: {
    readonly models: readonly ManagedModel[]
    readonly channels: readonly Pick<ManagedChannel, 'name' | 'settings'>[]
  }
  /** Throws a `ChangeRefused` where nothing was changed. */
  change(change: CatalogChange): Promise<unknown>
  /** Reads the configuration again; throws what is wrong with it. */
  reload(): Promise<unknown>
}

// ── changes ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** What an operator may change. Of settings, null takes back what was said; what is absent stays. */
export type CatalogChange =
  | { readonly type: 'add-model'; readonly id: string; readonly settings: JsonObject }
  | { readonly type: 'change-model'; readonly id: string; readonly settings: JsonObject }
  | { readonly type: 'remove-model'; readonly id: string }
  /** Keys stand among the settings, as in the file. In a change they replace those there are. */
  | { readonly type: 'add-channel'; readonly name: string; readonly settings: JsonObject }
  | { readonly type: 'change-channel'; readonly name: string; readonly settings: JsonObject }
  | { readonly type: 'remove-channel'; readonly name: string }
  | { readonly type: 'add-key'; readonly name: string; readonly key: string }
  | { readonly type: 'remove-key'; readonly name: string; readonly keyId: string }
  | { readonly type: 'pause'; readonly name: string; readonly keyId: string | undefined; readonly isPaused: boolean }

/** Why a change was not made; nothing of it was stored. */
export type Refusal =
  | { readonly reason: 'unknown'; readonly what: string }
  | { readonly reason: 'taken'; readonly what: string; readonly param: string }
  /** Something that goes before the console defines it. */
  | { readonly reason: 'read-only'; readonly what: string; readonly by: 'file' | 'environment' | 'builtin' | 'sandbox' }
  /** Each with its path, in the words of the configuration file. */
  | { readonly reason: 'invalid'; readonly faults: readonly string[] }

export class ChangeRefused extends Error {
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    super(refusal.reason)
    this.name = 'ChangeRefused'
    this.refusal = refusal
  }
}
