import { GatewayError } from '../../src/core/failure.ts'

/** A frame is written for every few characters that come in, and its head is as long as any. */
const GROWTH_MAX = 60
const GROWTH_CHARACTERS = 64 * 1024

/** No real request or answer is nested like this; here the stack may run out, which is told from our own mistakes. */
const DEPTH_MAX = 300

export function checkSize(input: string, output: string): void {
  if (output.length <= GROWTH_MAX * input.length + GROWTH_CHARACTERS) return
  throw new Error(`${input.length} characters became ${output.length}`)
}

const SHOWN_CHARACTERS_MAX = 4000

/** Whoever finds a fault wants to see what it was found with. */
export function withInput(input: string, check: () => void): void {
  try {
    check()
  } catch (cause) {
    const { stack = String(cause) } = cause as Error
    throw new Error(`${stack}\nwith ${input.slice(0, SHOWN_CHARACTERS_MAX)}`, { cause })
  }
}

/** Runs what may refuse its input, but only in the one way that it should. Undefined where it did. */
export function refusing<T>(input: string, run: () => T): T | undefined {
  try {
    return run()
  } catch (error) {
    if (error instanceof GatewayError) return undefined
    if (error instanceof RangeError && depthOf(input) > DEPTH_MAX) return undefined
    throw error
  }
}

function depthOf(text: string): number {
  let depth = 0
  let most = 0
  for (const character of text) {
    if (character === '[' || character === '{') most = Math.max(most, ++depth)
    else if (character === ']' || character === '}') depth--
  }
  return most
}
