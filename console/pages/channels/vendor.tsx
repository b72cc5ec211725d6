import { useId } from 'preact/hooks'
import type { VendorView } from '../../../src/admin/contract.ts'
import { t } from '../../app/language.ts'
import { SelectField, TextField } from '../../kit/index.ts'
import type { Draft } from './draft.ts'

interface VendorChoiceProps {
  readonly draft: Draft
  readonly vendors: readonly VendorView[]
  readonly isNew: boolean
  /** Names that exist already. */
  readonly taken: readonly string[]
  readonly errorOf: (field: string) => string | undefined
}

/** A vendor whose protocol and address are known, or any other upstream by hand. */
export function VendorChoice({ draft, vendors, isNew, taken, errorOf }: VendorChoiceProps) {
  const texts = t().channels
  const vendor = vendors.find(({ name }) => name === draft.vendor.value)
  const choose = (name: string) => {
    const isUntouched = draft.name.value === '' || draft.name.value === suggested(draft.vendor.value, taken)
    if (isNew && isUntouched) draft.name.value = suggested(name, taken)
    draft.vendor.value = name
    const isKnown = vendors.some(vendor => vendor.name === name && vendor.models.length > 0)
    if (draft.choice.value !== 'catalog') draft.choice.value = isKnown ? 'preset' : 'chosen'
  }
  return (
    <div class="stack">
      <Tiles current={draft.vendor.value} vendors={vendors} onChoose={choose} />
      {vendor === undefined ? (
        <SelectField
          label={texts.protocol}
          hint={texts.form.protocolHint}
          value={draft.protocol}
          error={errorOf('protocol') ?? errorOf('vendor')}
          options={[
            { value: 'chat', label: texts.protocols.chat },
            { value: 'messages', label: texts.protocols.messages },
          ]}
        />
      ) : (
        <p class="field-hint">{texts.form.speaks(vendor.name, texts.protocols[vendor.protocol])}</p>
      )}
      <TextField
        label={texts.baseUrl}
        type="url"
        inputMode="url"
        isOptional={vendor !== undefined}
        hint={vendor ? texts.form.baseUrlKnown : texts.form.baseUrlHint}
        placeholder={vendor?.base_url ?? 'https://api.example.com/v1'}
        autoComplete="off"
        spellcheck={false}
        value={draft.baseUrl}
        error={errorOf('base_url')}
      />
    </div>
  )
}

/** The vendor's name, or with a number where that is taken. */
function suggested(vendor: string, taken: readonly string[]): string {
  if (vendor === '' || !taken.includes(vendor)) return vendor
  let number = 2
  while (taken.includes(`${vendor}-${number}`)) number++
  return `${vendor}-${number}`
}

interface TilesProps {
  readonly current: string
  readonly vendors: readonly VendorView[]
  readonly onChoose: (name: string) => void
}

function Tiles({ current, vendors, onChoose }: TilesProps) {
  const group = useId()
  const options = [
    { value: '', label: t().channels.form.custom },
    ...vendors.map(({ name }) => ({ value: name, label: name })),
  ]
  return (
    <fieldset class="chips channels-vendors">
      <legend>{t().channels.vendor}</legend>
      {options.map(({ value, label }) => (
        <label key={value}>
          <input type="radio" name={group} value={value} checked={value === current} onChange={() => onChoose(value)} />
          <span>{label}</span>
        </label>
      ))}
    </fieldset>
  )
}
