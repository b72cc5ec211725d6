import { PRESETS, presetModels } from '../config/presets.ts'
import { CHANNEL } from '../config/schema.ts'
import { operatorsName } from '../core/capabilities.ts'
import type { Channel, Model, ServedModel } from '../core/catalog.ts'
import { wireOf } from '../core/failure.ts'
import type { CatalogEditor } from '../core/managed.ts'
import type { Probe } from '../core/probe.ts'
import type { Catalog } from '../routing/catalog.ts'
import { asSettings, changeCatalog, reloadCatalog, withoutName } from './catalog-changes.ts'
import { list } from './contract/common.ts'
import {
  type ChannelAttemptView,
  ChannelList,
  ChannelTestView,
  ChannelView,
  ReloadView,
  VendorView,
} from './contract.ts'
import { notFound, unprocessable } from './failure.ts'
import { type HealthSource, viewChannelHealth, viewKey } from './health-view.ts'
import { CHANNEL_TEST, read } from './input.ts'
import { CHANNEL_KEY, NAMED_CHANNEL, nullable, PAUSED } from './input-catalog.ts'
import { type AdminReply, created, done, ok, type Routes } from './route.ts'
import { lastDay, type Traffic, type TrafficDeps } from './traffic.ts'

export interface ChannelsDeps extends TrafficDeps, HealthSource {
  catalog(): Catalog
  readonly editor: CatalogEditor
  probe(channel: Channel, model: Model): Promise<readonly Probe[]>
}

// ── looking ─────────────────────────────────────────────────────────────────────────────────────────────────────────

async function listChannels(deps: ChannelsDeps) {
  const traffic = await lastDay('channel', deps)
  return { data: deps.catalog().channels.map(channel => viewChannel(channel, deps, traffic(channel.name))), next: null }
}

async function showChannel(name: string, deps: ChannelsDeps): Promise<ChannelView> {
  const channel = findChannel(name, deps)
  return viewChannel(channel, deps, (await lastDay('channel', deps))(name))
}

function findChannel(name: string, { catalog }: ChannelsDeps): Channel {
  const channel = catalog().channels.find(candidate => candidate.name === name)
  if (!channel) throw notFound(`channel ${name}`)
  return channel
}

/** Everything about a channel but its credentials. */
function viewChannel(channel: Channel, deps: ChannelsDeps, traffic: Traffic): ChannelView {
  const { name, origin, protocol, priority, weight, groups, timeouts, breaker } = channel
  return {
    ...{ name, origin, vendor: channel.vendor ?? null, protocol, base_url: channel.baseUrl },
    models: Object.fromEntries([...channel.models].map(([id, served]) => [id, served.name])),
    capabilities: Object.fromEntries([...channel.models].map(([id, served]) => [id, viewCapabilities(served)])),
    ...{ priority, weight, groups },
    timeout: {
      connect_ms: timeouts.connectMs,
      first_byte_ms: timeouts.firstByteMs,
      idle_ms: timeouts.idleMs,
      total_ms: timeouts.totalMs,
    },
    breaker: breaker
      ? { failures: breaker.failures, cool_down_ms: breaker.coolDownMs, cool_down_max_ms: breaker.coolDownMsMax }
      : null,
    paused: channel.isPaused,
    shadows: channel.hidesConsole,
    settings: deps.editor.managed.channels.find(managed => managed.name === name)?.settings ?? null,
    keys: channel.keys.map(key => viewKey(channel, key, deps)),
    health: viewChannelHealth(channel, deps),
    last_day: traffic,
  }
}

/** Those in force, whoever decided them. */
const viewCapabilities = ({ capabilities }: ServedModel): Record<string, unknown> =>
  Object.fromEntries(Object.entries(capabilities).map(([name, value]) => [operatorsName(name), value]))

function listVendors({ catalog }: ChannelsDeps) {
  const ids = catalog().allModels.map(({ id }) => id)
  const data: VendorView[] = Object.entries(PRESETS).map(([name, preset]) => ({
    ...{ name, protocol: preset.protocol, base_url: preset.baseUrl, keyless: preset.keyless ?? false },
    models: [...presetModels(preset, ids).keys()],
  }))
  return { data, next: null }
}

// ── changing ────────────────────────────────────────────────────────────────────────────────────────────────────────

async function addChannel(body: unknown, { editor }: ChannelsDeps): Promise<string> {
  const { name } = read(NAMED_CHANNEL, body)
  const settings = withoutName(asSettings(body), 'name', name)
  await changeCatalog({ type: 'add-channel', name, settings }, editor)
  return name
}

async function changeChannel(name: string, body: unknown, { editor }: ChannelsDeps): Promise<void> {
  const settings = withoutName(asSettings(body), 'name', name)
  await changeCatalog({ type: 'change-channel', name, settings }, editor)
}

/** Pausing is no definition: whatever is there can be paused. */
async function pause(name: string, keyId: string | undefined, body: unknown, deps: ChannelsDeps): Promise<AdminReply> {
  const { paused } = read(PAUSED, body)
  await changeCatalog({ type: 'pause', name, keyId, isPaused: paused }, deps.editor)
  return ok(await showChannel(name, deps))
}

async function reload({ editor, catalog }: ChannelsDeps): Promise<ReloadView> {
  await reloadCatalog(editor)
  const { models, channels } = catalog()
  return { models: models.size, channels: channels.length }
}

// ── testing ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Asks a channel one tiny question in each protocol, with the model that was named or the first it serves. */
async function testChannel(name: string, body: unknown, deps: ChannelsDeps): Promise<ChannelTestView> {
  const { model: wanted } = read(CHANNEL_TEST, body)
  const channel = findChannel(name, deps)
  const id = wanted ?? channel.models.keys().next().value
  const model = id !== undefined && channel.models.has(id) ? findModel(id, deps) : undefined
  if (!model) throw unprocessable(`model: channel ${name} does not serve ${id ?? 'any'}`, 'model')
  const attempts = (await deps.probe(channel, model)).map(viewAttempt)
  return { channel: name, model: model.id, ok: attempts.every(({ ok }) => ok), attempts }
}

/** One that is switched off, too: it may be tested before it is switched on. */
const findModel = (id: string, { catalog }: ChannelsDeps): Model | undefined =>
  catalog().allModels.find(model => model.id === id)

function viewAttempt({ client, upstream, keyId, durationMs, request, answer, failure }: Probe): ChannelAttemptView {
  const wire = failure && wireOf(failure)
  return {
    ...{ client, upstream, key: keyId ?? null, ok: !failure, duration_ms: durationMs, request },
    answer: answer ?? null,
    error: wire ? { code: wire.code, message: wire.message } : null,
  }
}

export const channelRoutes: Routes<ChannelsDeps> = {
  'GET /channels': {
    access: 'admin',
    summary: 'The upstreams and their health',
    answers: { 200: ChannelList },
    handle: async ({ deps }) => ok(await listChannels(deps)),
  },
  'POST /channels': {
    access: 'admin',
    summary: 'Add an upstream, in the words of the configuration file',
    body: CHANNEL,
    answers: { 201: ChannelView },
    errors: [409],
    handle: async ({ json, deps }) => created(await showChannel(await addChannel(await json(), deps), deps)),
  },
  'PATCH /channels/*': {
    access: 'admin',
    summary: 'Change an upstream; null takes back what was said; keys that are given replace those there are',
    body: nullable(CHANNEL.omit({ name: true })),
    answers: { 200: ChannelView },
    errors: [409],
    handle: async ({ ids: [name = ''], json, deps }) => {
      await changeChannel(name, await json(), deps)
      return ok(await showChannel(name, deps))
    },
  },
  'DELETE /channels/*': {
    access: 'admin',
    summary: 'Remove an upstream with its keys',
    answers: { 204: null },
    errors: [409],
    handle: async ({ ids: [name = ''], deps }) => {
      await changeCatalog({ type: 'remove-channel', name }, deps.editor)
      return done
    },
  },
  'POST /channels/*/keys': {
    access: 'admin',
    summary: 'Give an upstream one more key; keys are sealed, and never shown',
    body: CHANNEL_KEY,
    answers: { 201: ChannelView },
    errors: [409],
    handle: async ({ ids: [name = ''], json, deps }) => {
      const { api_key: key } = read(CHANNEL_KEY, await json())
      await changeCatalog({ type: 'add-key', name, key }, deps.editor)
      return created(await showChannel(name, deps))
    },
  },
  'DELETE /channels/*/keys/*': {
    access: 'admin',
    summary: 'Remove a key',
    answers: { 204: null },
    errors: [409, 422],
    handle: async ({ ids: [name = '', keyId = ''], deps }) => {
      await changeCatalog({ type: 'remove-key', name, keyId }, deps.editor)
      return done
    },
  },
  'PUT /channels/*/paused': {
    access: 'admin',
    summary: 'Pause an upstream of any origin, or let it serve again',
    body: PAUSED,
    answers: { 200: ChannelView },
    handle: async ({ ids: [name = ''], json, deps }) => pause(name, undefined, await json(), deps),
  },
  'PUT /channels/*/keys/*/paused': {
    access: 'admin',
    summary: 'Pause one key of an upstream of any origin, or use it again',
    body: PAUSED,
    answers: { 200: ChannelView },
    handle: async ({ ids: [name = '', keyId = ''], json, deps }) => pause(name, keyId, await json(), deps),
  },
  'POST /channels/*/test': {
    access: 'admin',
    summary: 'Ask a channel one tiny question in each protocol, outside all accounts',
    body: CHANNEL_TEST,
    answers: { 200: ChannelTestView },
    handle: async ({ ids: [name = ''], json, deps }) => ok(await testChannel(name, await json(), deps)),
  },
  'GET /vendors': {
    access: 'admin',
    summary: 'Well-known upstreams, which a channel can name instead of an address',
    answers: { 200: list(VendorView) },
    handle: async ({ deps }) => ok(listVendors(deps)),
  },
  'POST /config/reload': {
    access: 'admin',
    summary: 'Read the configuration file again; a faulty one is refused whole',
    answers: { 200: ReloadView },
    errors: [422],
    handle: async ({ deps }) => ok(await reload(deps)),
  },
}
