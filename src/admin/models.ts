import { CONSOLE_MODEL } from '../config/schema.ts'
import type { Model } from '../core/catalog.ts'
import type { PriceList } from '../core/ledger.ts'
import type { CatalogEditor } from '../core/managed.ts'
import { formatPrice } from '../core/price.ts'
import type { Catalog } from '../routing/catalog.ts'
import { asSettings, changeCatalog, withoutName } from './catalog-changes.ts'
import { list } from './contract/common.ts'
import { ModelView, PriceVersionView } from './contract.ts'
import { notFound } from './failure.ts'
import { read } from './input.ts'
import { NAMED_MODEL, nullable } from './input-catalog.ts'
import { type Actor, confinedTo, created, done, ok, type Routes } from './route.ts'
import { lastDay, type Traffic, type TrafficDeps } from './traffic.ts'

export interface ModelsDeps extends TrafficDeps {
  catalog(): Catalog
  readonly editor: CatalogEditor
  readonly prices: PriceList
}

/** Prices change a few times a year. */
const PRICE_VERSIONS_MAX = 500

async function listModels(actor: Actor, deps: ModelsDeps) {
  const traffic = await lastDay('model', deps, confinedTo(actor))
  const { allModels } = deps.catalog()
  // What is switched off is the operator's business.
  const visible = actor.role === 'admin' ? allModels : allModels.filter(({ enabled }) => enabled)
  return { data: visible.map(model => viewModel(model, { actor, deps, traffic })), next: null }
}

interface Viewing {
  readonly actor: Actor
  readonly deps: ModelsDeps
  readonly traffic: (id: string) => Traffic
}

function viewModel(model: Model, { actor, deps, traffic }: Viewing): ModelView {
  const { id, hides } = model
  const catalog = deps.catalog()
  const version = model.price && catalog.versionOf(id)
  const isAdmin = actor.role === 'admin'
  const own = isAdmin ? deps.editor.managed.models.find(managed => managed.id === id) : undefined
  const channels = isAdmin ? catalog.channels.filter(({ models }) => models.has(id)) : []
  return {
    ...{ id, name: model.name, description: model.description },
    price: version ? { ...formatPrice(version), version: version.version } : null,
    context_length: model.contextLength,
    max_output_tokens: model.maxOutputTokens,
    images: model.images ?? 'ignore',
    recommended: model.recommended,
    reasoning: model.reasoning,
    channels: channels.map(({ name }) => name),
    origin: model.origin,
    enabled: model.enabled,
    overrides: hides === 'builtin',
    shadows: hides === 'console',
    settings: own?.settings ?? null,
    last_day: traffic(id),
  }
}

async function showModel(id: string, actor: Actor, deps: ModelsDeps): Promise<ModelView> {
  const model = deps.catalog().allModels.find(candidate => candidate.id === id)
  if (!model) throw notFound(`model ${id}`)
  return viewModel(model, { actor, deps, traffic: await lastDay('model', deps) })
}

async function addModel(body: unknown, { editor }: ModelsDeps): Promise<string> {
  const { id } = read(NAMED_MODEL, body)
  const settings = withoutName(asSettings(body), 'id', id)
  await changeCatalog({ type: 'add-model', id, settings }, editor)
  return id
}

async function changeModel(id: string, body: unknown, { editor }: ModelsDeps): Promise<void> {
  const settings = withoutName(asSettings(body), 'id', id)
  await changeCatalog({ type: 'change-model', id, settings }, editor)
}

/** Of a model that is gone, too: what it cost stays known. */
async function listPrices(id: string, { catalog, prices }: ModelsDeps) {
  const versions = await prices.history(id, PRICE_VERSIONS_MAX)
  if (versions.length === 0 && !catalog().allModels.some(model => model.id === id)) throw notFound(`model ${id}`)
  const data: PriceVersionView[] = versions.map(version => ({
    ...formatPrice(version),
    version: version.version,
    since: new Date(version.since).toISOString(),
  }))
  return { data, next: null }
}

export const modelRoutes: Routes<ModelsDeps> = {
  'GET /models': {
    access: 'member',
    summary: 'The catalog with its prices',
    answers: { 200: list(ModelView) },
    handle: async ({ actor, deps }) => ok(await listModels(actor, deps)),
  },
  'POST /models': {
    access: 'admin',
    summary: 'Add a model, or change a built-in one: what is not said of it is as it is built in',
    body: CONSOLE_MODEL,
    answers: { 201: ModelView },
    errors: [409],
    handle: async ({ json, actor, deps }) => created(await showModel(await addModel(await json(), deps), actor, deps)),
  },
  'PATCH /models/*': {
    access: 'admin',
    summary: 'Change a model; null takes back what was said; a new price is a new version',
    body: nullable(CONSOLE_MODEL.omit({ id: true })),
    answers: { 200: ModelView },
    errors: [409],
    handle: async ({ ids: [id = ''], json, actor, deps }) => {
      await changeModel(id, await json(), deps)
      return ok(await showModel(id, actor, deps))
    },
  },
  'DELETE /models/*': {
    access: 'admin',
    summary: 'Remove a model that was added here; one that is built in is then as it was',
    answers: { 204: null },
    errors: [409, 422],
    handle: async ({ ids: [id = ''], deps }) => {
      await changeCatalog({ type: 'remove-model', id }, deps.editor)
      return done
    },
  },
  'GET /models/*/prices': {
    access: 'member',
    summary: 'Every price a model has had, newest first',
    answers: { 200: list(PriceVersionView) },
    handle: async ({ ids: [id = ''], deps }) => ok(await listPrices(id, deps)),
  },
}
