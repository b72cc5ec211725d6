import { beforeEach, describe, expect } from 'bun:test'
import { ask, eachPair, eachWay, type Line, useScript } from './pairs.ts'
import { PLAIN_USAGE, saying } from './wire.ts'

const stage = useScript('    images: ignore')

const DATA = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk'
const PIXEL = `data:image/png;base64,${DATA}`
const LINK = 'https://images.example/harbour.png'
const TOOL = { name: 'take_photo', description: 'Photographs', schema: { type: 'object', properties: {} } }

const EVERYWHERE: readonly Line[] = [
  { user: 'One of mine.', image: PIXEL },
  { assistant: '', calls: [{ id: 'call_1', name: 'take_photo', arguments: '{}' }] },
  { results: [{ id: 'call_1', text: 'One of the camera.', image: PIXEL }] },
  { assistant: 'I see.' },
  { user: 'And one from afar.', image: LINK },
]

beforeEach(() => {
  stage.answer = saying({ text: 'A harbour.', finish: 'stop', usage: PLAIN_USAGE })
})

function expectNoImages(): void {
  const { text } = stage.visit
  for (const trace of [DATA.slice(0, 20), 'images.example', 'image_url', '"image"', 'base64']) {
    expect(text).not.toContain(trace)
  }
}

describe('images on their way upstream', () => {
  eachWay('none arrives, all texts do', async (pair, stream) => {
    await ask(stage, pair, { messages: EVERYWHERE, tools: [TOOL], stream })
    expectNoImages()
    for (const text of ['One of mine.', 'One of the camera.', 'And one from afar.']) {
      expect(stage.visit.text).toContain(text)
    }
  })

  eachPair('a message of nothing but an image keeps its place', async pair => {
    const messages: Line[] = [{ user: '', image: PIXEL }, { assistant: 'Nice.' }, { user: 'Thanks.' }]
    await ask(stage, pair, { messages })
    expectNoImages()
    expect(stage.visit.body.messages.map(({ role }: { role: string }) => role)).toEqual(['user', 'assistant', 'user'])
    expect(stage.visit.body.messages[0].content).not.toBeEmpty()
  })

  eachPair('a tool result of nothing but an image still answers its call', async pair => {
    const messages: Line[] = [
      { user: 'Look outside.' },
      { assistant: '', calls: [{ id: 'call_1', name: 'take_photo', arguments: '{}' }] },
      { results: [{ id: 'call_1', text: '', image: PIXEL }] },
    ]
    await ask(stage, pair, { messages, tools: [TOOL] })
    expectNoImages()
    const last = stage.visit.body.messages.at(-1)
    if (pair.upstream === 'chat') expect(last).toMatchObject({ role: 'tool', tool_call_id: 'call_1' })
    else expect(last.content[0]).toMatchObject({ type: 'tool_result', tool_use_id: 'call_1' })
  })
})
