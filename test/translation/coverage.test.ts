import { expect, test } from 'bun:test'
import type { Pair } from '../pairs/pairs.ts'
import { BODY_CLAIMS } from './body-claims.ts'
import { CASES, casesOf, KINDS, pairOf } from './cases.ts'
import { type Claims, unmatched } from './claims.ts'
import { HTTP_CLAIMS } from './http-claims.ts'
import { REQUEST_CLAIMS } from './request-claims.ts'
import { STREAM_CLAIMS } from './stream-claims.ts'
import { wholeClaims } from './whole-claims.ts'

const KIND_NAMES = Object.keys(KINDS) as readonly (keyof typeof KINDS)[]

const CLAIMS: Claims = {
  ...STREAM_CLAIMS,
  ...REQUEST_CLAIMS,
  ...BODY_CLAIMS,
  ...HTTP_CLAIMS,
  ...wholeClaims('SO-01'),
}

test('every case is played, and by one file only', () => {
  const played = KIND_NAMES.flatMap(kind => casesOf(kind).map(({ id }) => id))
  expect(played.toSorted()).toEqual(CASES.map(({ id }) => id).toSorted())
  expect(new Set(played).size).toBe(143)
})

test('every sentence of a case has code that checks it, and all code has a sentence', () => {
  expect(CASES.flatMap(each => unmatched(each, CLAIMS))).toEqual([])
  expect(Object.keys(CLAIMS).filter(id => !CASES.some(each => each.id === id))).toEqual([])
})

const TO_CHAT: Pair = { client: 'messages', upstream: 'chat' }
const TO_MESSAGES: Pair = { client: 'chat', upstream: 'messages' }

test('every case is played in the direction that its id names', () => {
  for (const each of CASES.filter(({ direction }) => direction !== 'http')) {
    expect({ id: each.id, ...pairOf(each) }).toEqual({ id: each.id, ...(each.id[1] === 'O' ? TO_CHAT : TO_MESSAGES) })
  }
})

/** What the players look at; a word that they do not know would be an expectation that nobody checks. */
const CHECKED = {
  stream: ['client_events', 'client_frames', 'final_message', 'final_completion', 'invariants', 'assert'],
  request: ['status', 'error', 'upstream_request', 'upstream_body_contains', 'absent', 'assert'],
  body: ['status_not', 'response', 'absent', 'assert'],
  http: ['status', 'assert'],
} as const

test('every expectation is of a kind that is checked', () => {
  const unknown = KIND_NAMES.flatMap(kind =>
    casesOf(kind).flatMap(({ id, expected }) =>
      Object.keys(expected).flatMap(name =>
        (CHECKED[kind] as readonly string[]).includes(name) ? [] : [`${id}: ${name}`],
      ),
    ),
  )
  expect(unknown).toEqual([])
})
