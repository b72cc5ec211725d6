import type { ChannelAttemptView, ChannelKeyView, ChannelTestView, ChannelView } from '../../admin/contract.ts'
import type { Api } from '../api.ts'
import { listChannels, testChannel, triedAgain } from '../channels.ts'
import { asCommandError } from '../failure.ts'
import { type Check, failed, ok, warning } from './check.ts'

export async function checkChannels(api: Api): Promise<Check[]> {
  const { data } = await listChannels(api)
  return Promise.all(data.map(channel => checkChannel(api, channel)))
}

async function checkChannel(api: Api, channel: ChannelView): Promise<Check> {
  const name = `channel ${channel.name}`
  if (channel.paused) return warning(name, 'is paused')
  if (Object.keys(channel.models).length === 0) return warning(name, 'serves no model')
  try {
    return judge(channel, await testChannel(api, channel.name))
  } catch (error) {
    return failed(name, asCommandError(error).message)
  }
}

/** The test takes a key that is out, if there is one: an answer brings it back, and a refusal says nothing of the others. */
function judge({ name: channel, keys }: ChannelView, { model, ok: isAnswered, attempts }: ChannelTestView): Check {
  const name = `channel ${channel}`
  const isTested = ({ id }: ChannelKeyView) => attempts.some(({ key }) => key === id)
  const out = keys.filter(key => isOut(key) && !(isAnswered && isTested(key)))
  const isOnlyTheKey = attempts.every(isFaultOfKey) && out.some(isTested) && keys.some(isGood)
  if (!isAnswered && !isOnlyTheKey) return failed(name, `does not answer for ${model}`, attempts.flatMap(failureIn))
  if (out.length > 0) return warning(name, `answers for ${model}, but not with every key`, out.map(outText))
  return ok(name, `answers for ${model}, to callers of both protocols`)
}

/** What an upstream has against a key it may not have against another. */
const FAULTS_OF_KEYS = new Set(['upstream_auth_failed', 'upstream_rate_limited'])

const isFaultOfKey = ({ error }: ChannelAttemptView): boolean => error === null || FAULTS_OF_KEYS.has(error.code)

const isOut = ({ health, paused }: ChannelKeyView): boolean =>
  !paused && (health.state === 'down' || health.breaker !== 'closed')

const isGood = (key: ChannelKeyView): boolean => !key.paused && !isOut(key) && key.health.state === 'healthy'

function outText({ id, hint, health }: ChannelKeyView): string {
  const again = triedAgain(health)
  return [
    `key ${id} (${hint}) ${health.refused ? 'was refused by the vendor' : 'is out'}`,
    ...(again === null ? [] : [`tried again: ${again}`]),
    ...(health.last_error === null ? [] : [health.last_error]),
  ].join('; ')
}

const failureIn = ({ client, upstream, key, error }: ChannelAttemptView): string[] =>
  error ? [`${client} to ${upstream}${key === null ? '' : `, key ${key}`}: ${error.code}: ${error.message}`] : []
