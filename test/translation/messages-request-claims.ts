import { expect } from 'bun:test'
import type { Claims } from './claims.ts'
import { asking, sentOf } from './requests.ts'

/** What a messages client says, and what a chat upstream is told. */
export const MESSAGES_REQUEST_CLAIMS: Claims = {
  'RO-17': {
    'exactly one tool': async (scene, stage) => {
      expect((await sentOf(stage, scene)).tools).toHaveLength(1)
    },
    'no extra keys inside function or parameters': async (scene, stage) => {
      const [tool] = (await sentOf(stage, scene)).tools
      const parameters = { type: 'object', properties: {} }
      expect(tool).toEqual({ type: 'function', function: { name: 'f', description: 'd', parameters } })
    },
  },
  'RO-24': {
    'strict is not forced to true': async (scene, stage) => {
      expect((await sentOf(stage, scene)).response_format.json_schema.strict ?? false).toBe(false)
    },
  },
  'RO-25': {
    'user matches ^[A-Za-z0-9_-]{1,64}$': async (scene, stage) => {
      expect((await sentOf(stage, scene)).user).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
    },
    'metadata is not forwarded': async (scene, stage) => {
      expect(await sentOf(stage, scene)).not.toHaveProperty('metadata')
    },
  },
  'RO-30': {
    'no block silently dropped': async (scene, stage) => {
      const [{ content }] = (await sentOf(stage, scene)).messages
      for (const said of ['T', 'body', 'R', 'found']) expect(content).toMatch(new RegExp(`\\b${said}\\b`))
    },
    'a base64 PDF gives 400 or a placeholder, never an empty message': async (scene, stage) => {
      const source = { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0xLjcK' }
      const messages = [{ role: 'user', content: [{ type: 'document', source }] }]
      const played = await stage.play(asking(scene, { messages }))
      if (played.status === 400) return
      expect(played.status).toBe(200)
      const [{ content }] = played.sent.body.messages
      expect(content).toMatch(/\S/)
      expect(content).not.toContain('JVBERi0xLjcK')
    },
  },
  'RO-31': {
    'messages.length == 3': async (scene, stage) => {
      expect((await sentOf(stage, scene)).messages).toHaveLength(3)
    },
  },
}
