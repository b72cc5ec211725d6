import { describe, expect, test } from 'bun:test'
import type { Channel } from '../../src/core/catalog.ts'
import { choose } from '../../src/routing/choose.ts'
import { nearest } from '../../src/routing/nearest.ts'

const channel = (name: string, priority: number, weight = 1): Channel => ({
  name,
  priority,
  weight,
  protocol: 'chat',
  baseUrl: 'http://127.0.0.1',
  ...{ origin: 'file', vendor: undefined, hidesConsole: false, isPaused: false, keys: [], usableKeys: [] },
  models: new Map(),
  groups: ['default'],
  timeouts: { connectMs: 1, firstByteMs: 1, idleMs: 1 },
  withheld: [],
  replyHeaders: {},
})

describe('the channel for a call', () => {
  test('has the lowest priority', () => {
    const channels = [channel('far', 1, 100), channel('near', 0), channel('farther', 2)]
    for (const dice of [0, 0.5, 0.999]) expect(choose(channels, dice)?.name).toBe('near')
  })

  test('is shared among equals by weight', () => {
    const channels = [channel('three', 0, 3), channel('one', 0, 1)]
    const drawn = Array.from({ length: 100 }, (_, place) => choose(channels, place / 100)?.name)
    expect(drawn.filter(name => name === 'three')).toHaveLength(75)
  })

  test('is nobody where there is none', () => expect(choose([], 0)).toBeUndefined())
})

describe('a mistyped model', () => {
  const KNOWN = ['openai/gpt-5.2', 'openai/gpt-5-mini', 'anthropic/claude-sonnet-4.6']
  const ROWS: [name: string, meant: string | undefined][] = [
    ['openai/gpt5.2', 'openai/gpt-5.2'],
    ['gpt-5-mini', 'openai/gpt-5-mini'],
    ['claude-sonnet-4-6', 'anthropic/claude-sonnet-4.6'],
    ['Anthropic/Claude-Sonnet-4.6', 'anthropic/claude-sonnet-4.6'],
    ['completely/different-thing', undefined],
    ['x'.repeat(10_000), undefined],
  ]
  for (const [name, meant] of ROWS) {
    test(`${name.slice(0, 30)} may have meant ${meant}`, () => expect(nearest(name, KNOWN)[0]).toBe(meant as string))
  }
})
