import { t } from '../../app/language.ts'
import type { Submission } from '../../kit/index.ts'
import { type Draft, settingsOf } from './draft.ts'

/** The name is part of the address `/channels/new`, so no channel may have it. */
const RESERVED_NAME = 'new'
const NAME = /^\w[\w.-]{0,63}$/
const DURATION = /^\d+(ms|s|m)$/

/** Faults that can be told without asking, in the reader's language. True if there are none. */
export function refuseFaults(draft: Draft, form: Submission, { isNew }: { readonly isNew: boolean }): boolean {
  const faults = Object.entries({
    ...(isNew ? { name: nameFault(draft.name.value.trim()) } : {}),
    base_url: addressFault(draft),
    models: modelsFault(draft),
    'timeout.connect': durationFault(draft.connect.value),
    'timeout.first_byte': durationFault(draft.firstByte.value),
    'timeout.idle': durationFault(draft.idle.value),
    'timeout.total': durationFault(draft.total.value),
    ...(draft.hasBreaker.value ? breakerFaults(draft) : {}),
    capabilities: settingsOf(draft) ? undefined : t().channels.form.unreadable,
  }).flatMap(([field, fault]) => (fault === undefined ? [] : [[field, fault] as const]))
  for (const [field, fault] of faults) form.refuse(field, fault)
  return faults.length === 0
}

function nameFault(name: string): string | undefined {
  const texts = t().channels.form
  if (name === '') return texts.missingName
  if (name === RESERVED_NAME) return texts.reservedName
  return NAME.test(name) ? undefined : texts.badName
}

/** A vendor's own address is known; any other upstream must have one. */
function addressFault({ vendor, baseUrl }: Draft): string | undefined {
  const texts = t().channels.form
  const typed = baseUrl.value.trim()
  if (typed === '') return vendor.value === '' ? texts.missingAddress : undefined
  return /^https?:$/.test(URL.parse(typed)?.protocol ?? '') ? undefined : texts.badAddress
}

/** What a vendor is known for need not be said. */
function modelsFault({ vendor, chosen, choice }: Draft): string | undefined {
  const isLeftOpen = vendor.value !== '' && choice.value === 'preset'
  return isLeftOpen || chosen.value.size > 0 ? undefined : t().channels.form.noModels
}

/** The server knows two shapes of it, and says of what fits neither no more than that. */
const breakerFaults = ({ failures, coolDown, coolDownMax }: Draft) => ({
  'breaker.failures': /^\s*([1-9]\d*)?\s*$/.test(failures.value) ? undefined : t().channels.form.badFailures,
  'breaker.cool_down': durationFault(coolDown.value),
  'breaker.cool_down_max': durationFault(coolDownMax.value),
})

const durationFault = (typed: string): string | undefined =>
  typed.trim() === '' || DURATION.test(typed.trim()) ? undefined : t().channels.form.badDuration
