import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import type { ApiError } from '../app/api.ts'
import { t } from '../app/language.ts'
import { asApiError } from '../app/resource.ts'
import { Note } from './note.tsx'

export interface Submission {
  readonly isBusy: boolean
  readonly error: ApiError | undefined
  /** What the server says about one field; the rest is for `Form` to show. */
  errorOf(param: string): string | undefined
  submit(): Promise<void>
  /** Faults found before asking the server: `form.refuse('cap', t().keys.notAnAmount)`. */
  refuse(param: string, message: string): void
  clear(): void
}

/** Runs `work` once at a time and remembers how it failed. */
export function useSubmit(work: () => Promise<unknown>): Submission {
  const isBusy = useSignal(false)
  const error = useSignal<ApiError | undefined>(undefined)
  const refused = useSignal<Readonly<Record<string, string>>>({})
  return {
    isBusy: isBusy.value,
    error: error.value,
    errorOf: param => refused.value[param] ?? (error.value?.param === param ? problemOf(error.value) : undefined),
    refuse(param, message) {
      refused.value = { ...refused.value, [param]: message }
    },
    clear() {
      error.value = undefined
      refused.value = {}
    },
    async submit() {
      if (isBusy.value) return
      isBusy.value = true
      error.value = undefined
      refused.value = {}
      try {
        await work()
      } catch (cause) {
        error.value = asApiError(cause)
      } finally {
        isBusy.value = false
      }
    },
  }
}

/** The server names the field before the problem; beside the field, that is said already. */
const problemOf = ({ message, param }: ApiError): string =>
  message.startsWith(`${param}: `) ? message.slice(`${param}: `.length) : message

interface FormProps {
  readonly submission: Submission
  /** For a button outside of it, such as in a dialog's footer: `<Button type="submit" form={id}>`. */
  readonly id?: string
  /** Fields that show their own error. */
  readonly fields?: readonly string[]
  readonly children: ComponentChildren
}

/** A form that says at its end what no field says. */
export function Form({ submission, id, fields = [], children }: FormProps) {
  const { error } = submission
  const isElsewhere = error?.param !== undefined && fields.includes(error.param)
  return (
    <form
      id={id}
      class="stack"
      noValidate
      onSubmit={event => {
        event.preventDefault()
        submission.submit()
      }}
    >
      {children}
      {error && !isElsewhere && <Note tone="bad">{errorText(error)}</Note>}
    </form>
  )
}

/** In the reader's language where the console knows the fault, else in the server's words. */
export function errorText(error: ApiError): string {
  const texts = t().errors
  switch (error.code) {
    case 'unreachable':
      return texts.unreachable
    case 'unreadable':
      return texts.unreadable(error.status)
    case 'too_many_attempts':
      return texts.tooManyAttempts(minutesOf(error.retryAfterSeconds))
    case 'cross_site':
      return texts.crossSite
    default:
      return error.message
  }
}

/** Rounded up: who comes too early has to wait again. */
const minutesOf = (seconds: number | undefined): number | undefined =>
  seconds === undefined ? undefined : Math.max(1, Math.ceil(seconds / 60))
