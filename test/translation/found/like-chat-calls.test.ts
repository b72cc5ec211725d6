import { describe, expect, test } from 'bun:test'
import { useScript } from '../../pairs/pairs.ts'
import { chatFrame } from '../../support/vendor.ts'
import { chatFolded } from '../rules/stage.ts'
import { chunksFrom, DONE } from './chunks.ts'

/** Calls in a chat stream that is passed on, as the official client hands them out. */

const stage = useScript()

const calling = (...fragments: readonly object[]) => chatFrame({ delta: { tool_calls: fragments } })

const folded = async (deltas: readonly string[], finish_reason: string) =>
  chatFolded(await chunksFrom(stage, { frames: [...deltas, chatFrame({ delta: {}, finish_reason }), DONE] }))

describe('calls of both forms', () => {
  const custom = [
    calling({ index: 0, id: 'c0', type: 'custom', custom: { name: 'shell', input: '' } }),
    calling({ index: 0, custom: { input: 'ls' } }),
    calling({ index: 0, custom: { input: ' -l' } }),
  ]
  const made = [
    calling({ index: 1, id: 'c1', type: 'function', function: { name: 'find', arguments: '' } }),
    calling({ index: 1, function: { arguments: '{"a"' } }),
    calling({ index: 1, function: { arguments: ':1}' } }),
  ]
  const role = chatFrame({ delta: { role: 'assistant', content: null } })
  const wanted = [
    { id: 'c0', type: 'custom', custom: { name: 'shell', input: 'ls -l' } },
    { id: 'c1', type: 'function', function: { name: 'find', arguments: '{"a":1}' } },
  ]

  test('stay two calls, one after the other', async () => {
    expect((await folded([role, ...custom, ...made], 'tool_calls')).calls).toEqual(wanted)
  })

  test('stay two calls where their fragments take turns', async () => {
    const turns = custom.flatMap((fragment, place) => [fragment, made[place] ?? ''])
    expect((await folded([role, ...turns], 'tool_calls')).calls).toEqual(wanted)
  })

  test('are what the answer ended with, whatever the upstream says', async () => {
    expect((await folded([role, ...custom], 'stop')).finish).toBe('tool_calls')
  })
})

describe('an id that comes later than the name', () => {
  const cases: readonly [string, readonly string[]][] = [
    [
      'with the first piece of the arguments',
      [
        calling({ index: 0, type: 'function', function: { name: 'find', arguments: '' } }),
        calling({ index: 0, id: 'late', function: { arguments: '{"a"' } }),
        calling({ index: 0, function: { arguments: ':1}' } }),
      ],
    ],
    [
      'together with the name again',
      [
        calling({ index: 0, type: 'function', function: { name: 'find', arguments: '{"a"' } }),
        calling({ index: 0, id: 'late', type: 'function', function: { name: 'find', arguments: ':1}' } }),
      ],
    ],
  ]
  for (const [what, fragments] of cases) {
    test(`does not split the call: ${what}`, async () => {
      const { calls } = await folded(fragments, 'tool_calls')
      expect(calls).toEqual([
        { id: expect.any(String), type: 'function', function: { name: 'find', arguments: '{"a":1}' } },
      ])
      expect(calls[0].id).not.toBe('')
    })
  }
})
