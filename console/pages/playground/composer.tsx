import { useRef } from 'preact/hooks'
import { isApple, MOD } from '../../app/keys.ts'
import { t } from '../../app/language.ts'
import { toast } from '../../app/toasts.tsx'
import { Button, Keys } from '../../kit/index.ts'
import { showFaults } from './panel.tsx'
import type { Lane } from './request.ts'
import { ask, hasFaults, isBusy, prompt, stop } from './state.ts'

const PROMPT_CHARACTERS_MAX = 1_000_000

export function Composer({ lanes }: { readonly lanes: readonly Lane[] }) {
  const field = useRef<HTMLTextAreaElement>(null)
  const texts = t().playground
  const send = () => {
    const text = prompt.value.trim()
    if (text === '' || isBusy.value) return field.current?.focus()
    if (refuseFaults()) return
    prompt.value = ''
    ask(text, lanes)
    field.current?.focus()
  }
  return (
    <form
      class="playground-composer"
      onSubmit={event => {
        event.preventDefault()
        send()
      }}
    >
      <textarea
        ref={field}
        data-filter=""
        rows={1}
        aria-label={texts.prompt}
        aria-keyshortcuts={isApple ? 'Meta+Enter' : 'Control+Enter'}
        placeholder={texts.promptPlaceholder}
        maxLength={PROMPT_CHARACTERS_MAX}
        value={prompt}
        onInput={event => {
          prompt.value = event.currentTarget.value
        }}
        onKeyDown={event => {
          if (event.key === 'Enter' && (event.metaKey || event.ctrlKey) && !event.isComposing) send()
          else if (event.key === 'Escape' && isBusy.value) stop()
          else if (event.key === 'Escape') event.currentTarget.blur()
          else return
          event.preventDefault()
        }}
      />
      <div class="playground-send">
        <span class="playground-send-keys" aria-hidden="true">
          <Keys keys={isBusy.value ? ['Esc'] : [MOD, '↵']} />
        </span>
        {isBusy.value ? (
          <Button key="stop" icon="pause" onClick={stop}>
            {texts.stop}
          </Button>
        ) : (
          <Button key="send" kind="primary" icon="playground" type="submit">
            {texts.send}
          </Button>
        )}
      </div>
    </form>
  )
}

/** What is wrong with the settings is said beside them; here it is only that something is. */
export function refuseFaults(): boolean {
  if (!hasFaults.value) return false
  toast(t().playground.faultsFirst, { tone: 'bad' })
  showFaults()
  return true
}
