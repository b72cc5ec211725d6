import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Duet, startDuet } from '../../support/duet.ts'
import { post, user } from '../../support/http.ts'
import { configForBoth, scriptUpstream, VENDOR_KEY, VENDOR_MODEL } from '../../support/upstream.ts'
import { vendorAnswer } from '../../support/vendor.ts'
import { ask, PATHS, PROTOCOLS } from '../../support/wire.ts'

const upstream = scriptUpstream(vendorAnswer)
let duet: Duet
beforeAll(async () => {
  duet = await startDuet({ config: configForBoth(upstream.base, { more: 'aliases: { fast: acme/chat }' }) })
})
afterAll(async () => {
  await duet.stop()
  await upstream.stop()
})

const IMAGE = { type: 'image_url', image_url: { url: 'data:image/png;base64,aGVsbG8=' } }

const preview = (given: object) => duet.admin('POST', '/api/translations', given)

describe('the translated request', () => {
  for (const protocol of PROTOCOLS) {
    for (const side of PROTOCOLS) {
      test(`of ${protocol} to ${side} is what that upstream is really sent`, async () => {
        const body = ask(protocol, `acme/${side}`, 'Hello', { temperature: 0.5, stream: true })
        const { status, body: shown } = await preview({ protocol, body })
        expect(status).toBe(200)
        expect(shown).toMatchObject({ channel: `acme-${side}`, protocol, upstream_protocol: side })
        expect(shown.is_passed_on).toBe(protocol === side)
        expect(upstream.requests).toHaveLength(0)
        await post(duet, PATHS[protocol], body)
        expect(upstream.requests.pop()?.body).toEqual(shown.request)
      })
    }
  }

  test('names what is dropped, images too', async () => {
    const content = [{ type: 'text', text: 'What is this?' }, IMAGE]
    const { body } = await preview({
      protocol: 'chat',
      body: { model: 'acme/messages', messages: user(content), logit_bias: { a: 1 } },
    })
    expect(body.dropped).toEqual(expect.arrayContaining(['image', 'logit_bias']))
    expect(JSON.stringify(body.request)).not.toContain('aGVsbG8=')
  })

  test('knows aliases and takes a channel by name', async () => {
    const body = { model: 'fast', messages: user('Hello') }
    expect((await preview({ protocol: 'chat', body, channel: 'acme-chat' })).body.request.model).toBe(VENDOR_MODEL)
    const other = await preview({ protocol: 'chat', body, channel: 'acme-messages' })
    expect([other.status, other.body.error.param]).toEqual([422, 'channel'])
  })

  test('of a faulty body is the error that its caller would get', async () => {
    const cases: [body: object, message: string][] = [
      [{}, 'field model is required'],
      [{ model: 'acme/chat' }, 'field messages is required'],
      [{ model: 'no/where', messages: user('Hello') }, 'field model does not name a model of the catalog'],
    ]
    for (const [body, message] of cases) {
      const { status, body: answer } = await preview({ protocol: 'chat', body })
      expect([status, answer.error.message]).toEqual([422, message])
    }
    expect((await preview({ protocol: 'grpc', body: {} })).status).toBe(422)
    expect((await preview({ protocol: 'chat', body: 'text' })).status).toBe(422)
  })

  test('has no credential in it', async () => {
    const { body } = await preview({ protocol: 'chat', body: { model: 'acme/chat', messages: user('Hello') } })
    expect(JSON.stringify(body)).not.toContain(VENDOR_KEY)
  })
})
