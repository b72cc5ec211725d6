import { expect } from 'bun:test'
import type { Duet, JsonBody } from '../../support/duet.ts'
import { type Answer, CHAT, post, user } from '../../support/http.ts'
import { scriptUpstream } from '../../support/upstream.ts'
import { vendorAnswer, vendorError } from '../../support/vendor.ts'

export const MODEL = 'acme/swift-2'
/** Nothing of a known shape in them: they can be found only by those who know them. */
export const FIRST_KEY = 'Qv7KunmistakableOne'
export const SECOND_KEY = 'Zt4WunmistakableTwo'
export const FIRST_KEY_HINT = '…eOne'

/** An upstream that refuses keys, or everything, when it is told to. */
export function fickleUpstream() {
  const refused = new Set<string>()
  const mood: { status: number | undefined } = { status: undefined }
  const upstream = scriptUpstream(visit => {
    const key = (visit.headers.get('authorization') ?? '').replace('Bearer ', '')
    const status = refused.has(key) ? 401 : mood.status
    if (status === undefined) return vendorAnswer(visit)
    return Response.json(vendorError('chat', `no, ${key}, this is ${status}`), { status })
  })
  return {
    ...upstream,
    refused,
    mood,
    keys: () => upstream.requests.map(({ headers }) => headers.get('authorization')),
  }
}

/** A model and a channel of the console. */
export async function addAcme(duet: Duet, base: string, more: object = {}): Promise<JsonBody> {
  const model = await duet.admin('POST', '/api/models', { id: MODEL, price: { input: 1, output: 4 } })
  expect(model.status).toBe(201)
  const channel = await duet.admin('POST', '/api/channels', {
    ...{ name: 'acme', protocol: 'chat', base_url: base, api_keys: [FIRST_KEY], models: { [MODEL]: 'swift-2-large' } },
    ...more,
  })
  expect([channel.status, channel.body.error]).toEqual([201, undefined])
  return channel.body
}

export const chat = (duet: Duet, model = MODEL, more: object = {}, key = duet.key): Promise<Answer> =>
  post(duet, CHAT, { model, messages: user('Hello'), ...more }, { key })

export async function channelOf(duet: Duet, name = 'acme'): Promise<JsonBody> {
  const { body } = await duet.admin('GET', '/api/channels')
  return body.data.find((channel: JsonBody) => channel.name === name)
}

export async function modelOf(duet: Duet, id = MODEL): Promise<JsonBody> {
  const { body } = await duet.admin('GET', '/api/models')
  return body.data.find((model: JsonBody) => model.id === id)
}

export const pathOf = (id: string): string => `/api/models/${encodeURIComponent(id)}`
