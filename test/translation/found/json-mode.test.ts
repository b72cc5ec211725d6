import { describe, expect, test } from 'bun:test'
import { useScript } from '../../pairs/pairs.ts'
import type { JsonBody } from '../../support/duet.ts'
import { CHAT, post, user } from '../../support/http.ts'
import { chatFrame, vendorBody } from '../../support/vendor.ts'
import { chatFolded } from '../rules/stage.ts'
import { chunksFrom, DONE, signal } from './chunks.ts'

/** A chat upstream with a JSON mode is passed on, and what it writes around the document is cut off. */

const stage = useScript()

const fields = { response_format: { type: 'json_object' } }
const saying = (content: string) => chatFrame({ delta: { content } })
const END = [chatFrame({ delta: {}, finish_reason: 'stop' }), DONE]

const wholly = async (content: string): Promise<string> => {
  stage.answer = () => Response.json(vendorBody('chat', content))
  const { body } = await post(stage.duet, CHAT, { model: stage.model('chat'), messages: user('q'), ...fields })
  return body.choices[0].message.content
}

/** In pieces of a few letters, as vendors send them. */
const streamed = async (content: string): Promise<string> => {
  const frames = [...(content.match(/.{1,4}/gs) ?? []).map(saying), ...END]
  return chatFolded(await chunksFrom(stage, { fields, frames })).content
}

describe('what stands around the document is not said', () => {
  const document = '{"a":"}{","b":[{"c":1}]}'
  const cases: Readonly<Record<string, string>> = {
    fences: `\`\`\`json\n${document}\n\`\`\``,
    'prose before': `Here it is: ${document}`,
    'prose behind': `${document}\n\nAnything else?`,
    'prose and fences': `Sure!\n\`\`\`\n${document}\n\`\`\`\nThat {is} all.`,
  }
  for (const [what, content] of Object.entries(cases)) {
    test(`${what}, whole and streamed`, async () => {
      expect({ whole: await wholly(content), streamed: await streamed(content) }).toEqual({
        whole: document,
        streamed: document,
      })
    })
  }
})

test('a text that holds no document becomes one, whole and streamed alike', async () => {
  const [whole, stream] = [await wholly('I cannot.'), await streamed('I cannot.')]
  expect(stream).toBe(whole)
  expect(JSON.parse(whole)).toEqual({ answer: 'I cannot.' })
})

test('a document that begins at once comes as it is written', async () => {
  const seen = signal()
  const frames = [saying('\n{"a":'), seen.given, saying('1}'), saying(' Done.'), ...END]
  const hear = ({ choices }: JsonBody) => choices[0]?.delta.content?.includes('"a"') && seen.give()
  const chunks = await chunksFrom(stage, { fields, frames, hear })
  expect(await seen.given).toBe(true)
  expect(JSON.parse(chatFolded(chunks).content)).toEqual({ a: 1 })
})
