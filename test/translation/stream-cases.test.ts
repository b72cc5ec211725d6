import { expect, test } from 'bun:test'
import { faultsInChat, faultsInMessages } from '../pairs/grammar.ts'
import { type Case, casesOf } from './cases.ts'
import { testClaims } from './claims.ts'
import { expectFinalCompletion, expectFinalMessage } from './finals.ts'
import { withMinted } from './frames.ts'
import { official, type Played, type Scene, sceneOf, useCases } from './play.ts'
import { linesOf, STREAM_CLAIMS } from './stream-claims.ts'

const stage = useCases()

for (const each of casesOf('stream')) {
  test(`${each.id}: ${each.title}`, async () => {
    const scene = sceneOf(each)
    const played = await stage.play(scene)
    expectLines(each, linesOf(scene, played))
    expectForm(scene, played, each)

    const { final_message, final_completion } = each.expected
    if (final_message) expectFinalMessage(await official(stage, scene), final_message)
    if (final_completion) expectFinalCompletion(await official(stage, scene), final_completion)
  })

  testClaims(each, STREAM_CLAIMS, claim => claim(sceneOf(each), stage))
}

function expectLines({ expected }: Case, lines: readonly string[]): void {
  const { client_events, client_frames } = expected
  const wanted = client_events ?? client_frames ?? []
  expect(wanted).not.toBeEmpty()
  expect(withMinted(lines, wanted)).toEqual([...wanted])
}

/** A1 to A10, or O1 to O9; where the first thing to say is an error, it is said with a status instead (H-06). */
function expectForm({ pair, body }: Scene, { status, headers, text }: Played, { expected }: Case): void {
  const isRefused = expected.client_events?.[0]?.startsWith('error') ?? false
  expect({ status, type: headers.get('content-type') }).toEqual(
    isRefused ? { status: 502, type: 'application/json' } : { status: 200, type: 'text/event-stream' },
  )
  if (isRefused) return
  const isMessages = pair.client === 'messages'
  expect(expected.invariants).toBe(isMessages ? 'A1-A10' : 'O1-O9')
  const usageAsked = body.stream_options?.include_usage ?? false
  expect(isMessages ? faultsInMessages(text) : faultsInChat(text, { usageAsked })).toEqual([])
}
