import type { Duet, JsonBody } from './duet.ts'

/** The lines of a Duet's log with this message. What has no end yet is no line. */
export const logged = ({ output }: Pick<Duet, 'output'>, message: string): JsonBody[] =>
  output()
    .split('\n')
    .slice(0, -1)
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line))
    .filter(line => line.message === message)
