import { expect } from 'bun:test'
import { messagesFrame } from '../pairs/wire.ts'
import type { JsonBody } from '../support/duet.ts'
import { framesOf } from '../support/http.ts'
import { eventStream, type UpstreamVisit } from '../support/upstream.ts'
import { vendorBody } from '../support/vendor.ts'
import type { CaseStage, Scene } from './play.ts'

/** The same call with other fields. */
export const asking = (scene: Scene, more: object): Scene => ({ ...scene, body: { ...scene.body, ...more } })

/** What reaches the upstream of a call that succeeds. */
export async function sentOf(stage: CaseStage, scene: Scene): Promise<JsonBody> {
  const played = await stage.play(scene)
  expect({ status: played.status, error: played.body?.error }).toEqual({ status: 200, error: undefined })
  return played.sent.body
}

/** An upstream that speaks messages and calls the tool that it was told to call. */
export const callingBack =
  (id: string, json: string) =>
  ({ body }: UpstreamVisit): Response => {
    const call = { type: 'tool_use', id, name: body.tool_choice.name, input: JSON.parse(json) }
    return Response.json({ ...vendorBody('messages'), content: [call], stop_reason: 'tool_use' })
  }

/** The same as a stream, with these fragments of the input. */
export const streamingBack =
  (id: string, fragments: readonly string[]) =>
  ({ body }: UpstreamVisit): Response => {
    const call = { type: 'tool_use', id, name: body.tool_choice.name, input: {} }
    return eventStream([
      messagesFrame('message_start', { message: { ...vendorBody('messages'), content: [], stop_reason: null } }),
      messagesFrame('content_block_start', { index: 0, content_block: call }),
      ...fragments.map(partial_json =>
        messagesFrame('content_block_delta', { index: 0, delta: { type: 'input_json_delta', partial_json } }),
      ),
      messagesFrame('content_block_stop', { index: 0 }),
      messagesFrame('message_delta', { delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 5 } }),
      messagesFrame('message_stop', {}),
    ])
  }

export const deltasOf = (stream: string): readonly JsonBody[] =>
  framesOf(stream).flatMap(({ json }) => json?.choices?.map(({ delta }: JsonBody) => delta) ?? [])

export const finishesOf = (stream: string): readonly string[] =>
  framesOf(stream).flatMap(({ json }) => json?.choices?.[0]?.finish_reason ?? [])
