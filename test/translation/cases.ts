import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Pair, Protocol } from '../pairs/pairs.ts'
import type { JsonBody } from '../support/duet.ts'

/** What the channel of a case can do, by the names of the fixture. */
export type Capabilities = Readonly<Record<string, boolean>>

/** One case of the fixture; its `legend` says how the expectations are meant. */
export interface Case {
  readonly id: string
  readonly title: string
  readonly direction: string
  readonly stream: boolean
  readonly request?: JsonBody
  readonly raw_body_contains?: string
  readonly upstream_frames?: readonly string[]
  readonly upstream_response?: JsonBody
  readonly upstream_capabilities?: Capabilities
  readonly tcp_split_bytes?: number
  readonly expected: Expected
}

export interface Expected {
  readonly status?: number
  readonly status_not?: number
  readonly error?: JsonBody
  readonly client_events?: readonly string[]
  readonly client_frames?: readonly string[]
  readonly final_message?: JsonBody
  readonly final_completion?: JsonBody
  readonly upstream_request?: JsonBody
  readonly upstream_body_contains?: string
  readonly response?: JsonBody
  readonly absent?: readonly string[]
  readonly invariants?: string
  readonly assert?: readonly string[]
}

const FILE = join(import.meta.dir, '../fixtures/translation.json')

export const CASES: readonly Case[] = JSON.parse(readFileSync(FILE, 'utf8')).cases

/** Who plays which cases; together they play all of them. */
export const KINDS = {
  stream: /^S[OA]-/,
  request: /^R[AO]-/,
  body: /^N[OA]-/,
  http: /^H-/,
} as const

export const casesOf = (kind: keyof typeof KINDS): readonly Case[] => CASES.filter(({ id }) => KINDS[kind].test(id))

export function caseOf(id: string): Case {
  const found = CASES.find(each => each.id === id)
  if (found === undefined) throw new Error(`there is no case ${id}`)
  return found
}

const DIALECTS: { readonly [vendor: string]: Protocol | undefined } = { openai: 'chat', anthropic: 'messages' }

/** The fixture names the two sides by the vendors whose protocols they speak, in the order in which things travel. */
export function pairOf({ id, direction }: Case): Pair {
  const dialect = (side: string): Protocol => {
    const found = DIALECTS[new RegExp(`(\\w+)-${side}`).exec(direction)?.[1] ?? '']
    if (found === undefined) throw new Error(`${id} does not name its ${side}`)
    return found
  }
  return { client: dialect('client'), upstream: dialect('upstream') }
}
