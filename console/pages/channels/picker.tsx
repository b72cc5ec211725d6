import { type Signal, useSignal } from '@preact/signals'
import { useId } from 'preact/hooks'
import type { ModelView } from '../../../src/admin/contract.ts'
import { t } from '../../app/language.ts'
import { href } from '../../app/router.ts'
import { Icon } from '../../kit/index.ts'

interface ModelPickerProps {
  readonly chosen: Signal<ReadonlyMap<string, string>>
  readonly catalog: readonly ModelView[]
  readonly error?: string | undefined
}

/** More than this are found by typing. */
const SHOWN_MAX = 100

/** Models of the catalog, each with the name that the upstream knows it by. */
export function ModelPicker({ chosen, catalog, error }: ModelPickerProps) {
  const texts = t().channels.picker
  const id = useId()
  const words = useSignal('')
  const matching = idsOf(catalog, chosen.value).filter(model => model.toLowerCase().includes(words.value.toLowerCase()))
  const shown = matching.slice(0, SHOWN_MAX)
  const change = (edit: (map: Map<string, string>) => void) => {
    const next = new Map(chosen.value)
    edit(next)
    chosen.value = next
  }
  return (
    <fieldset class="channels-picker" aria-describedby={`${id}-about`}>
      <legend>{texts.title(chosen.value.size)}</legend>
      <div class="input-frame">
        <Icon name="search" />
        <input
          type="search"
          aria-label={texts.search}
          placeholder={texts.search}
          autoComplete="off"
          value={words}
          onInput={event => {
            words.value = event.currentTarget.value
          }}
          onKeyDown={event => {
            // Enter would send the whole form.
            if (event.key === 'Enter') event.preventDefault()
          }}
        />
      </div>
      <ul>
        {shown.map(model => (
          <Choice
            key={model}
            id={model}
            upstream={chosen.value.get(model)}
            onToggle={isChosen => change(map => (isChosen ? map.set(model, '') : map.delete(model)))}
            onName={name => change(map => map.set(model, name))}
          />
        ))}
        {matching.length === 0 && <li class="faint">{texts.nothing}</li>}
        {matching.length > shown.length && <li class="faint">{texts.more(matching.length - shown.length)}</li>}
      </ul>
      {error && (
        <p class="field-error" role="alert">
          {error}
        </p>
      )}
      <p class="field-hint" id={`${id}-about`}>
        {texts.hint} <a href={href('/models/new')}>{texts.addModel}</a>
      </p>
    </fieldset>
  )
}

/** Those that are chosen stay in the list even if the catalog has lost them: only so can they be taken out. */
function idsOf(catalog: readonly ModelView[], chosen: ReadonlyMap<string, string>): string[] {
  return [...new Set([...chosen.keys(), ...catalog.map(({ id }) => id)])].sort()
}

interface ChoiceProps {
  readonly id: string
  /** Undefined while it is not chosen. */
  readonly upstream: string | undefined
  readonly onToggle: (isChosen: boolean) => void
  readonly onName: (name: string) => void
}

function Choice({ id, upstream, onToggle, onName }: ChoiceProps) {
  return (
    <li>
      <label>
        <input
          type="checkbox"
          checked={upstream !== undefined}
          onChange={event => onToggle(event.currentTarget.checked)}
        />
        <span class="mono">{id}</span>
      </label>
      {upstream !== undefined && (
        <input
          class="input mono"
          aria-label={t().channels.picker.upstreamName(id)}
          placeholder={id}
          autoComplete="off"
          spellcheck={false}
          value={upstream}
          onInput={event => onName(event.currentTarget.value)}
        />
      )}
    </li>
  )
}
