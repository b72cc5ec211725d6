import { signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { t } from '../app/language.ts'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { TextField } from './field.tsx'

interface Question {
  readonly title: string
  readonly text?: ComponentChildren
  /** What the button says: a verb, never "OK". */
  readonly action: string
  readonly isDangerous?: boolean
  /** For what cannot be undone: this must be typed first. */
  readonly typed?: string
}

const asked = signal<(Question & { readonly answer: (yes: boolean) => void }) | null>(null)

/** `if (await confirm({ title, text, action, isDangerous: true })) ...` */
export function confirm(question: Question): Promise<boolean> {
  return new Promise(answer => {
    asked.value = {
      ...question,
      answer(yes) {
        asked.value = null
        answer(yes)
      },
    }
  })
}

export function ConfirmHost() {
  const question = asked.value
  return question && <Confirm key={question.title} {...question} />
}

function Confirm({ title, text, action, isDangerous, typed, answer }: Question & { answer: (yes: boolean) => void }) {
  const written = useSignal('')
  const isReady = typed === undefined || written.value.trim() === typed
  return (
    <Dialog
      title={title}
      look="small"
      onClose={() => answer(false)}
      footer={
        <>
          <Button onClick={() => answer(false)}>{t().common.cancel}</Button>
          <Button type="submit" form="confirm" kind={isDangerous ? 'danger' : 'primary'} isDisabled={!isReady}>
            {action}
          </Button>
        </>
      }
    >
      <form
        id="confirm"
        class="stack"
        onSubmit={event => {
          event.preventDefault()
          if (isReady) answer(true)
        }}
      >
        {text && <div class="prose">{text}</div>}
        {typed !== undefined && <TextField label={t().common.typeToConfirm(typed)} value={written} autofocus />}
      </form>
    </Dialog>
  )
}
