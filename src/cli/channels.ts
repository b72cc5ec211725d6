import type { ChannelKeyView, ChannelTestView, ChannelView, HealthView, List } from '../admin/contract.ts'
import { type Api, apiOf, apiPath, UPSTREAM_MS_MAX } from './api.ts'
import type { Context, Run } from './command.ts'
import { notFound, unhealthy } from './failure.ts'
import type { Paint } from './paint.ts'
import { rows } from './rows.ts'
import { type Column, clean, indent, pairs, shortTime, table } from './table.ts'

const COLUMNS: readonly Column<ChannelView>[] = [
  { title: 'NAME', cell: ({ name }) => name },
  { title: 'PROTOCOL', cell: ({ protocol }) => protocol },
  { title: 'STATE', cell: ({ health }) => health.state },
  { title: 'TRIED AGAIN', cell: ({ health }) => triedAgain(health) },
  { title: 'KEYS', cell: workingKeys },
  { title: 'BASE URL', cell: ({ base_url }) => base_url },
  { title: 'MODELS', kind: 'number', cell: ({ models }) => Object.keys(models).length },
  { title: 'PRIORITY', kind: 'number', cell: ({ priority }) => priority },
  { title: 'WEIGHT', kind: 'number', cell: ({ weight }) => weight },
  { title: 'GROUPS', cell: ({ groups }) => groups.join(', ') },
  { title: 'ORIGIN', cell: ({ origin }) => origin },
  {
    title: 'PROBLEM',
    isLeftOut: ({ health }) => problemOf(health) === null,
    isShortened: true,
    cell: ({ health }) => problemOf(health),
  },
]

/** When one that is left alone gets a request again. */
export function triedAgain({ breaker, rests_until }: HealthView): string | null {
  return breaker === 'half-open' ? 'next request' : shortTime(rests_until)
}

/** How many there are, and how many of them work where not all do. */
function workingKeys({ keys }: ChannelView): string {
  const working = keys.filter(({ health }) => health.state !== 'paused' && health.state !== 'down')
  const refused = keys.filter(({ health }) => health.refused)
  const count = working.length === keys.length ? String(keys.length) : `${working.length} of ${keys.length}`
  return refused.length === 0 ? count : `${count}, ${refused.length} refused`
}

/** Of one that is well, the latest error is history. */
const problemOf = ({ state, last_error }: HealthView): string | null =>
  state === 'down' || state === 'degraded' ? last_error : null

export const list: Run = async (_, context) => {
  const found = await listChannels(apiOf(context))
  rows(found, { what: 'channels', id: ({ name }) => name, columns: COLUMNS }, context.out)
}

export const show: Run = async (given, context) => {
  const name = given.text('name')
  const channel = (await listChannels(apiOf(context))).data.find(candidate => candidate.name === name)
  if (!channel) throw notFound(`channel ${name} does not exist`)
  context.out.result({ json: channel, quiet: [channel.name], text: paint => channelText(channel, paint) })
}

function channelText({ health, ...channel }: ChannelView, paint: Paint): string {
  const about = pairs([
    ['name', channel.name],
    ['state', health.state],
    ...(health.breaker === 'closed' ? [] : [['tried again', triedAgain(health)] as const]),
    ...(health.last_error === null ? [] : [['last error', lastError(health)] as const]),
    ['protocol', channel.protocol],
    ['base url', channel.base_url],
    ['models', Object.keys(channel.models).join(', ') || 'none'],
    ['priority', channel.priority],
    ['weight', channel.weight],
    ['groups', channel.groups.join(', ')],
    ['origin', channel.origin],
    ...(channel.keys.length === 0 ? [['keys', 'none'] as const] : []),
  ])
  return channel.keys.length === 0 ? about : `${about}\n\n${table(KEY_COLUMNS, channel.keys, paint)}`
}

const lastError = ({ last_error, last_error_at }: HealthView): string | null =>
  last_error_at === null ? last_error : `${last_error} (${shortTime(last_error_at)})`

const KEY_COLUMNS: readonly Column<ChannelKeyView>[] = [
  { title: 'KEY', cell: ({ id }) => id },
  { title: 'HINT', cell: ({ hint }) => hint },
  { title: 'STATE', cell: ({ health }) => (health.refused ? `${health.state}, refused` : health.state) },
  { title: 'TRIED AGAIN', cell: ({ health }) => triedAgain(health) },
  { title: 'LAST ERROR', isShortened: true, cell: ({ health }) => lastError(health) },
]

export const listChannels = (api: Api): Promise<List<ChannelView>> => api.get<List<ChannelView>>('/channels')

export const pause: Run = (given, context) => setPaused(true, given.text('name'), context)

export const resume: Run = (given, context) => setPaused(false, given.text('name'), context)

async function setPaused(paused: boolean, name: string, context: Context): Promise<void> {
  const channel = await apiOf(context).put<ChannelView>(apiPath('channels', name, 'paused'), { paused })
  const state = channel.paused ? 'is paused' : 'is used again'
  context.out.result({ json: channel, text: () => `${clean(channel.name)} ${state}` })
}

export const test: Run = async (given, context) => {
  const { out } = context
  const api = apiOf(context)
  const [name, model] = [given.maybe('name'), given.maybe('model')]
  const tests = name === undefined ? await testAll(api, model) : [await testChannel(api, name, model)]
  out.result({
    json: name === undefined ? { data: tests, next: null } : tests[0],
    text: paint => tests.map(test => testText(test, { paint, showsRequests: name !== undefined })).join('\n'),
  })
  const failed = tests.filter(({ ok }) => !ok).map(({ channel }) => channel)
  if (failed.length > 0) throw unhealthy(`not every call was answered: ${failed.join(', ')}`)
}

async function testAll(api: Api, model: string | undefined): Promise<ChannelTestView[]> {
  const channels = (await listChannels(api)).data.filter(({ models }) =>
    model === undefined ? Object.keys(models).length > 0 : Object.hasOwn(models, model),
  )
  if (channels.length === 0)
    throw notFound(model === undefined ? 'no channel serves a model' : `no channel serves ${model}`)
  return Promise.all(channels.map(({ name }) => testChannel(api, name, model)))
}

export async function testChannel(api: Api, name: string, model?: string): Promise<ChannelTestView> {
  const { body } = await api.post<ChannelTestView>(apiPath('channels', name, 'test'), { model }, UPSTREAM_MS_MAX)
  return body
}

interface TestLayout {
  readonly paint: Paint
  readonly showsRequests: boolean
}

function testText({ channel, model, ok, attempts }: ChannelTestView, { paint, showsRequests }: TestLayout): string {
  const lines = attempts.map(({ client, upstream, key, request, duration_ms, answer, error }) => {
    const outcome = error ? `${error.code}: ${error.message}` : JSON.stringify(answer)
    const sent = showsRequests ? `\n${indent(clean(`sent ${JSON.stringify(request)}`))}` : ''
    const used = key === null ? '' : `, key ${key}`
    return `${mark(!error, paint)} ${client} to ${upstream}${used}, ${duration_ms} ms: ${clean(outcome)}${sent}`
  })
  return `${mark(ok, paint)} ${channel} (${model})\n${indent(lines.join('\n'))}`
}

const mark = (ok: boolean, paint: Paint): string => (ok ? paint.green('✓') : paint.red('✗'))
