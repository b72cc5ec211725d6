import { newSecret } from '../core/ids.ts'
import { AdminError } from './failure.ts'

/** argon2id as OWASP recommends it: 19 MiB and two passes, so that a few at once fit into a small machine. */
const ALGORITHM = { algorithm: 'argon2id', memoryCost: 19_456, timeCost: 2 } as const

/** Each takes its memory and a core: whoever comes while so many are under way is sent away at once. */
const AT_ONCE_MAX = 8

let underWay = 0

/** For names that nobody has: as slow as the real thing. */
let nobodys: Promise<string> | undefined

export const hashPassword = (password: string): Promise<string> => inTurn(() => Bun.password.hash(password, ALGORITHM))

export const isPassword = (password: string, hash: string | undefined): Promise<boolean> =>
  inTurn(async () => {
    nobodys ??= Bun.password.hash(newSecret(), ALGORITHM)
    const isRight = await Bun.password.verify(password, hash ?? (await nobodys))
    return isRight && hash !== undefined
  })

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (underWay >= AT_ONCE_MAX) {
    throw new AdminError(429, 'too_many_attempts', 'too many people sign in at this moment; try again', {
      retryAfter: 1,
    })
  }
  underWay++
  try {
    return await work()
  } finally {
    underWay--
  }
}
