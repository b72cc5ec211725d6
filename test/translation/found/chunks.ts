import { chatClient, type ScriptedStage } from '../../pairs/pairs.ts'
import type { JsonBody } from '../../support/duet.ts'
import type { Frame } from '../../support/http.ts'
import { eventStream } from '../../support/upstream.ts'

export const DONE = 'data: [DONE]\n\n'

/** A promise that resolves once it is told to, but waits no longer than a test can: `false` then. */
export function signal(msMax = 2_500): { readonly give: () => void; readonly given: Promise<boolean> } {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => resolve(false), msMax)
  const give = () => {
    clearTimeout(timer)
    resolve(true)
  }
  return { give, given: promise }
}

export interface Streaming {
  readonly fields?: object
  /** The upstream's stream; a promise in it is waited for. */
  readonly frames: readonly (string | Promise<unknown>)[]
  /** Told of every chunk at once. */
  readonly hear?: (chunk: JsonBody) => void
}

/** The chunks of a chat stream as the official client hands them out, in the form in which streams are folded. */
export async function chunksFrom(stage: ScriptedStage, { fields, frames, hear }: Streaming): Promise<Frame[]> {
  stage.answer = () => eventStream(frames)
  const body: JsonBody = { model: stage.model('chat'), messages: [{ role: 'user', content: 'q' }], stream: true }
  const chunks: JsonBody = await chatClient(stage).chat.completions.create({ ...body, ...fields })
  const heard: Frame[] = []
  for await (const json of chunks) {
    hear?.(json)
    heard.push({ event: undefined, data: '', json })
  }
  return heard
}
