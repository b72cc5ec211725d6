import { describe, expect, test } from 'bun:test'
import type { Channel } from '../../src/core/catalog.ts'
import { Router } from '../../src/gateway/router.ts'
import { type Choice, choose, NONE_EXCLUDED, soonestMs } from '../../src/routing/choose.ts'
import { nearest } from '../../src/routing/nearest.ts'

/** `name`, or `name:key,key` for one with credentials. */
function channel(text: string, more: Partial<Channel> = {}): Channel {
  const [name = '', list = ''] = text.split(':')
  const ids = list === '' ? [] : list.split(',')
  return {
    ...{ name, priority: 0, weight: 1, protocol: 'chat', baseUrl: 'http://127.0.0.1', groups: ['default'] },
    ...{ origin: 'file', vendor: undefined, hidesConsole: false, isPaused: false, models: new Map() },
    keys: ids.map(id => ({ id, hint: id, secret: id, isPaused: false })),
    usableKeys: ids.map(id => ({ id, secret: id })),
    timeouts: { connectMs: 1, firstByteMs: 1, idleMs: 1, totalMs: 1 },
    breaker: { failures: 5, coolDownMs: 1_000, coolDownMsMax: 60_000 },
    withheld: [],
    replyHeaders: {},
    ...more,
  }
}

/** Left alone for so many milliseconds: channels by name, keys as `channel/key`. */
const resting = (rests: Record<string, number> = {}): Choice['availability'] => ({
  admitsChannel: name => rests[name] === undefined,
  admitsKey: (name, id) => rests[`${name}/${id}`] === undefined,
  restMs: ({ channel: { name }, key }) => Math.max(rests[name] ?? 0, rests[`${name}/${key?.id}`] ?? 0),
})

function routeOf(channels: readonly Channel[], more: Partial<Choice> = {}): string | undefined {
  const route = choose({
    channels,
    availability: resting(),
    excluded: NONE_EXCLUDED,
    dice: 0,
    turnOf: () => 0,
    ...more,
  })
  return route && [route.channel.name, ...(route.key ? [route.key.id] : [])].join(' ')
}

const DICE = [0, 0.25, 0.5, 0.75, 0.999]

describe('the route of a call', () => {
  const near = channel('near')
  const far = channel('far', { priority: 1, weight: 100 })
  const ROWS: [what: string, channels: Channel[], choice: Partial<Choice>, route: string | undefined][] = [
    ['has the lowest priority', [far, near], {}, 'near'],
    ['may have a priority below zero', [near, channel('nearest', { priority: -1 })], {}, 'nearest'],
    ['is nowhere where there is no channel', [], {}, undefined],
    ['avoids what is left alone', [near, far], { availability: resting({ near: 1 }) }, 'far'],
    ['avoids what is paused', [channel('near', { isPaused: true }), far], {}, 'far'],
    ['avoids what has failed for this request', [near, far], { excluded: excluding({ channels: ['near'] }) }, 'far'],
    ['is nowhere where all have failed', [near], { excluded: excluding({ channels: ['near'] }) }, undefined],
    ['is nowhere where all are left alone', [near, far], { availability: resting({ near: 1, far: 1 }) }, undefined],
    ['uses the key that is not left alone', [channel('a:k,l')], { availability: resting({ 'a/k': 1 }) }, 'a l'],
    ['uses the key that has not failed', [channel('a:k,l')], { excluded: excluding({ keys: ['a/k'] }) }, 'a l'],
    ['may use a key that has failed elsewhere', [channel('a:k')], { excluded: excluding({ keys: ['b/k'] }) }, 'a k'],
    [
      'avoids a channel none of whose keys can be used',
      [channel('a:k,l'), far],
      { availability: resting({ 'a/k': 1 }), excluded: excluding({ keys: ['a/l'] }) },
      'far',
    ],
    ['avoids a channel whose keys are all paused', [channel('a:k', { usableKeys: [] }), far], {}, 'far'],
    ['is blind to the keys of others', [channel('a:k')], { availability: resting({ 'b/k': 1 }) }, 'a k'],
  ]
  for (const [what, channels, choice, route] of ROWS) {
    test(what, () => {
      for (const dice of DICE) expect(routeOf(channels, { dice, ...choice })).toBe(route as string)
    })
  }

  test('is shared among equals by weight', () => {
    const channels = [channel('three', { weight: 3 }), channel('one')]
    const drawn = Array.from({ length: 100 }, (_, place) => routeOf(channels, { dice: place / 100 }))
    expect(drawn.filter(name => name === 'three')).toHaveLength(75)
  })

  test('leaves the share of one that is left alone to its equals, and nothing to those of a higher number', () => {
    const channels = [channel('a'), channel('b'), channel('c', { weight: 2 }), far]
    const drawn = Array.from({ length: 90 }, (_, place) =>
      routeOf(channels, { dice: place / 90, availability: resting({ a: 1 }) }),
    )
    expect([drawn.filter(name => name === 'b').length, drawn.filter(name => name === 'c').length]).toEqual([30, 60])
  })

  test('uses the keys of a channel in turn', () => {
    const used = Array.from({ length: 5 }, (_, turn) => routeOf([channel('a:k,l,m')], { turnOf: () => turn }))
    expect(used).toEqual(['a k', 'a l', 'a m', 'a k', 'a l'])
  })

  test('depends on nothing but what it is given', () => {
    const channels = [channel('a:k,l', { weight: 2 }), channel('b'), far]
    const choice = { dice: 0.4, turnOf: () => 7, availability: resting({ b: 1 }) }
    const before = JSON.stringify(channels)
    expect(new Set(Array.from({ length: 20 }, () => routeOf(channels, choice))).size).toBe(1)
    expect(JSON.stringify(channels)).toBe(before)
  })
})

describe('the keys of channels', () => {
  test('take turns in each of them, whoever is asked in between', () => {
    const router = new Router(resting(), () => 0)
    const [a, b] = [channel('a:k,l'), channel('b:m,n')]
    const keys = [a, b, a, b].map(asked => router.route([asked], NONE_EXCLUDED)?.key?.id)
    expect(keys).toEqual(['k', 'm', 'l', 'n'])
  })
})

describe('how long until somebody can be asked', () => {
  const ROWS: [what: string, channels: Channel[], rests: Record<string, number>, ms: number | undefined][] = [
    ['the one whose rest ends first', [channel('a'), channel('b')], { a: 900, b: 300 }, 300],
    ['the longer of a channel and its key', [channel('a:k')], { a: 100, 'a/k': 700 }, 700],
    ['the key whose rest ends first', [channel('a:k,l')], { 'a/k': 700, 'a/l': 200 }, 200],
    ['nobody knows of those that are paused', [channel('a', { isPaused: true })], {}, undefined],
  ]
  for (const [what, channels, rests, ms] of ROWS) {
    test(what, () => expect(soonestMs(channels, resting(rests))).toBe(ms as number))
  }
})

function excluding({ channels = [], keys = [] }: { channels?: string[]; keys?: string[] }): Choice['excluded'] {
  return { channels: new Set(channels), keys: new Set(keys) }
}

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
