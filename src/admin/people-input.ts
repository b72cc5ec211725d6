import { z } from 'zod'
import { name, text } from './input.ts'

/** Long enough to resist guessing at the speed of argon2; the upper limit keeps the work of one attempt bounded. */
const PASSWORD_CHARACTERS_MIN = 10
const PASSWORD_CHARACTERS_MAX = 200

const newPassword = text
  .min(PASSWORD_CHARACTERS_MIN, `must have at least ${PASSWORD_CHARACTERS_MIN} characters`)
  .max(PASSWORD_CHARACTERS_MAX, `must have at most ${PASSWORD_CHARACTERS_MAX} characters`)
const givenPassword = text.max(PASSWORD_CHARACTERS_MAX)
const role = z.enum(['admin', 'member'], 'must be admin or member')
const token = text.min(1).max(200)

export const SIGN_IN = z.strictObject({ name: text.max(200), password: givenPassword })
export const NEW_PASSWORD = z.strictObject({ current: givenPassword, password: newPassword })
export const OPENED_INVITE = z.strictObject({ token })
export const ACCEPTED_INVITE = z.strictObject({ token, name: name.optional(), password: newPassword })
export const NEW_INVITE = z.strictObject({
  role: role.default('member'),
  account: text.min(1).nullish(),
  name: name.nullish(),
})
export const USER_CHANGES = z.strictObject({
  name: name.optional(),
  role: role.optional(),
  enabled: z.boolean().optional(),
})
