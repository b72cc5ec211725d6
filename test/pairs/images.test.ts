import { describe, expect } from 'bun:test'
import type { JsonBody } from '../support/duet.ts'
import { post } from '../support/http.ts'
import { ask, bodyFor, eachPair, eachWay, failureOf, type Line, PAIRS, PATHS, useSandbox } from './pairs.ts'

const stage = useSandbox()

const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const LINK = 'https://images.example/harbour.png'
const TOOL = { name: 'take_photo', description: 'Photographs', schema: { type: 'object', properties: {} } }

const withImage = (image: string): readonly Line[] => [{ user: 'What is on this picture?', image }]
const IN_RESULT: readonly Line[] = [
  { user: 'Look outside.' },
  { assistant: '', calls: [{ id: 'call_1', name: 'take_photo', arguments: '{}' }] },
  { results: [{ id: 'call_1', text: 'taken at noon', image: PIXEL }] },
]

const isRecommended = ({ recommended }: JsonBody) => recommended

describe('a model that ignores images', () => {
  for (const [what, image] of [
    ['given as data', PIXEL],
    ['given as a link', LINK],
  ] as const) {
    eachWay(`an image ${what} is accepted, and the text beside it is answered`, async (pair, stream) => {
      const { text, finish } = await ask(stage, pair, { messages: withImage(image), stream })
      expect(text).toContain('What is on this picture?')
      expect(finish).toBe('stop')
    })
  }

  eachWay('an image inside a tool result is accepted, and the text beside it is used', async (pair, stream) => {
    const { text } = await ask(stage, pair, { messages: IN_RESULT, tools: [TOOL], stream })
    expect(text).toContain('taken at noon')
  })

  eachWay('a message of nothing but an image is answered', async (pair, stream) => {
    expect((await ask(stage, pair, { messages: [{ user: '', image: PIXEL }], stream })).finish).toBe('stop')
  })

  eachWay('the answer says that an image was dropped', async (pair, stream) => {
    for (const messages of [withImage(PIXEL), withImage(LINK), IN_RESULT]) {
      const body = bodyFor(stage, pair, { messages, tools: [TOOL], stream })
      const { status, headers } = await post(stage.duet, PATHS[pair.client], body)
      expect({ status, dropped: headers.get('x-duet-dropped') }).toEqual({ status: 200, dropped: 'image' })
    }
  })

  eachPair('nothing is said to be dropped when there was no image', async pair => {
    const body = bodyFor(stage, pair, { messages: [{ user: 'Hello' }] })
    const { headers } = await post(stage.duet, PATHS[pair.client], body)
    expect(headers.get('x-duet-dropped')).toBeNull()
  })

  eachPair('a strict caller gets a 400 instead', async pair => {
    const body = bodyFor(stage, pair, { messages: withImage(PIXEL) })
    const strict = { headers: { 'x-duet-strict': 'true' } }
    const { status, body: answer } = await post(stage.duet, PATHS[pair.client], body, strict)
    expect(status).toBe(400)
    expect(answer.error.message).toContain('image')
  })
})

describe('the recommended model', () => {
  // There is one, so it stands behind one kind of upstream: a pair is chosen by its client alone.
  const clients = PAIRS.filter(({ upstream }) => upstream === 'chat')
  const model = () => stage.models.find(isRecommended)?.id

  for (const [what, messages] of [
    ['given as data', withImage(PIXEL)],
    ['given as a link', withImage(LINK)],
    ['inside a tool result', IN_RESULT],
  ] as const) {
    eachWay(
      `rejects an image ${what} with 400`,
      async (pair, stream) => {
        const failure = await failureOf(ask(stage, pair, { model: model(), messages, tools: [TOOL], stream }))
        expect({ status: failure?.status, name: failure?.constructor.name }).toEqual({
          status: 400,
          name: 'BadRequestError',
        })
      },
      clients,
    )
  }

  eachWay(
    'answers text as any other',
    async (pair, stream) => {
      const messages = [{ user: 'Is the tide high?' }]
      expect((await ask(stage, pair, { model: model(), messages, stream })).text).toContain('Is the tide high?')
    },
    clients,
  )
})
