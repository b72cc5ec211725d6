import { query, setQuery } from '../../app/router.ts'
import type { ProtocolName } from './answer.ts'
import { keptLane } from './draft.ts'
import type { Lane } from './request.ts'

/** Who is asked, and how, is in the address: `?model=&protocol=`, and `&compare=true&model2=&protocol2=` for two. */

export type Mode = ProtocolName | 'compare'

const asProtocol = (value: string | null): ProtocolName | null =>
  value === 'chat' || value === 'messages' ? value : null

/** Links may say `protocol=both`. */
const isCompared = () => query.value.has('compare') || query.value.get('protocol') === 'both'

export function lanesOf(modelDefault: string): readonly Lane[] {
  const asked = query.value
  const first: Lane = {
    model: asked.get('model') ?? modelDefault,
    protocol: asProtocol(asked.get('protocol')) ?? (isCompared() ? 'chat' : (keptLane()?.protocol ?? 'chat')),
  }
  if (!isCompared()) return [first]
  return [
    first,
    { model: asked.get('model2') ?? first.model, protocol: asProtocol(asked.get('protocol2')) ?? 'messages' },
  ]
}

export const modeOf = (lanes: readonly Lane[]): Mode => (lanes.length > 1 ? 'compare' : (lanes[0]?.protocol ?? 'chat'))

export function chooseMode(mode: Mode): void {
  if (mode === 'compare') setQuery({ compare: true, protocol: 'chat', protocol2: 'messages' })
  else setQuery({ protocol: mode, compare: null, model2: null, protocol2: null })
}

export function chooseLane(place: number, { model, protocol }: Partial<Lane>, lanes: readonly Lane[]): void {
  const [first, second] = lanes.map((lane, at) =>
    at === place ? { model: model ?? lane.model, protocol: protocol ?? lane.protocol } : lane,
  )
  setQuery({
    model: first?.model,
    protocol: first?.protocol,
    compare: second !== undefined,
    model2: second?.model,
    protocol2: second?.protocol,
  })
}
