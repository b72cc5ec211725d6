import type { ProtocolName } from '../../support/wire.ts'
import { nameOf, PRICE_LINE, WAYS, type Way } from '../support.ts'
import type { Fault, Patience } from './fault.ts'
import { faultsOf } from './faults.ts'
import type { FaultyUpstream } from './upstream.ts'

/** One combination: a fault at its stage, who calls, whom, and how. */
export interface Case extends Fault {
  /** The name of its model, its channel and its address: no case disturbs another. */
  readonly id: string
  readonly title: string
  readonly way: Way
  /** What a second channel speaks, which has nothing wrong with it and is asked second; undefined where there is none. */
  readonly second: ProtocolName | undefined
}

const DIALECTS: readonly ProtocolName[] = ['chat', 'messages']

const combinations = WAYS.flatMap(way =>
  faultsOf(way)
    .filter(({ isAside }) => !isAside || way.client === way.upstream)
    .map(fault => ({ ...fault, way, title: `${fault.name} ${fault.stage}: ${nameOf(way)}` })),
)

/** A faulty upstream and no other. */
export const ALONE: readonly Case[] = combinations.map((fault, place) => ({
  ...{ ...fault, id: `alone-${place}`, second: undefined },
}))

/** With a sound one behind it, which speaks the other protocol in one half of all cases. */
export const BACKED: readonly Case[] = combinations
  .filter(({ outcome }) => outcome.sees === 'an error' || outcome.sees === 'a broken stream')
  .map((fault, place) => ({ ...fault, id: `backed-${place}`, second: DIALECTS[place % DIALECTS.length] }))

export const modelOf = (id: string): string => `acme/${id}`

export const secondOf = (id: string): string => `${id}-second`

const TIMEOUTS: Readonly<Record<Patience, string>> = {
  long: '{ connect: 10s, first_byte: 20s, idle: 20s }',
  short: '{ connect: 1s, first_byte: 1s, idle: 1s }',
  'short in all': '{ connect: 10s, first_byte: 20s, idle: 20s, total: 1500ms }',
}

/** A `duet.yaml` with a model for every case, and with channels that nobody else uses. */
export function configFor(cases: readonly Case[], upstream: FaultyUpstream): string {
  const models = cases.map(({ id }) => `  - { id: ${modelOf(id)}, price: ${PRICE_LINE} }`)
  const channel = (name: string, id: string, protocol: ProtocolName, more: string) =>
    `  - { name: ${name}, protocol: ${protocol}, base_url: ${upstream.base(name)}, api_key: vendor-${name}, models: [${modelOf(id)}], ${more} }`
  const channels = cases.flatMap(({ id, way, patience, second }) => [
    channel(id, id, way.upstream, `timeout: ${TIMEOUTS[patience]}`),
    ...(second ? [channel(secondOf(id), id, second, 'priority: 1')] : []),
  ])
  return `models:\n${models.join('\n')}\nchannels:\n${channels.join('\n')}\n`
}
