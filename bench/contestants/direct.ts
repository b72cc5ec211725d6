import { type Ask, bodyOf, PATHS, type Shape } from '../requests.ts'
import type { Contestant } from './contestant.ts'

/** Nobody in between: the ceiling of what can be measured here. */
export const direct: Contestant = {
  name: 'direct',
  label: 'straight to the mock upstream',
  start: async ({ upstream }) => ({
    pid: undefined,
    ask: shape => askDirectly(upstream, shape),
    stop: async () => {},
  }),
}

/** As a relay is asked that passes on what it gets: the path says what the upstream answers. */
export function askDirectly(url: string, shape: Shape): Ask {
  return {
    url: `${url}/${shape.behaviour}${PATHS[shape.protocol]}`,
    headers: { 'content-type': 'application/json', authorization: 'Bearer vendor-key-0123456789' },
    body: bodyOf(shape, 'bench-model'),
  }
}
