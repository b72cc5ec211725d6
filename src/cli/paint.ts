const CODES = { bold: '1', dim: '2', red: '31', green: '32', yellow: '33' } as const

/** What a text is made to fit: the colours and the width of where it is shown. */
export interface Paint extends Readonly<Record<keyof typeof CODES, (text: string) => string>> {
  /** Characters in a line; without end where it is no terminal. */
  lineWidth(): number
}

interface Canvas {
  readonly hasColours: () => boolean
  readonly lineWidth: () => number
}

/** Whether there are colours is asked when the first one is wanted. */
export function paintFor({ hasColours, lineWidth }: Canvas): Paint {
  const painter = (name: keyof typeof CODES) => (text: string) =>
    hasColours() ? `\u001b[${CODES[name]}m${text}\u001b[0m` : text
  return {
    bold: painter('bold'),
    dim: painter('dim'),
    red: painter('red'),
    green: painter('green'),
    yellow: painter('yellow'),
    lineWidth,
  }
}

/** https://no-color.org: set to anything, it means no. */
export const mayColour = (env: Readonly<Record<string, string | undefined>>): boolean =>
  !env.NO_COLOR && env.TERM !== 'dumb'
