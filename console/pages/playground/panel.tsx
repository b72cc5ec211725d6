import { signal } from '@preact/signals'
import { t } from '../../app/language.ts'
import { Button, CheckField, SelectField, SwitchField, TextAreaField, TextField } from '../../kit/index.ts'
import { reading, settings } from './state.ts'
import { EXAMPLE_TOOLS, type ToolsFault } from './tools.ts'

/** Beside the conversation where there is room for both; else folded above it. */
const ROOMY = '(width >= 82rem)'

const isOpen = signal<boolean>(matchMedia(ROOMY).matches)

/** Leads to the first setting that is not right. */
export function showFaults(): void {
  isOpen.value = true
  setTimeout(() => document.querySelector<HTMLElement>('.playground-settings [aria-invalid]')?.focus())
}

export function SettingsPanel() {
  const texts = t().playground
  const { faults } = reading.value
  const fields = settings.value
  return (
    <details
      class="playground-settings"
      open={isOpen.value}
      onToggle={event => {
        isOpen.value = event.currentTarget.open
      }}
    >
      <summary>
        <h2>{texts.settings}</h2>
      </summary>
      <div class="stack">
        <TextAreaField
          label={texts.system}
          value={fields.system}
          rows={2}
          placeholder={texts.systemPlaceholder}
          isOptional
        />
        <SwitchField label={texts.streaming} value={fields.isStreamed} />
        <div class="playground-pair">
          <TextField
            label={texts.maxTokens}
            value={fields.maxTokens}
            error={faults.maxTokens && texts.maxTokensFault}
            inputMode="numeric"
            autoComplete="off"
          />
          <TextField
            label={texts.temperature}
            value={fields.temperature}
            error={faults.temperature && texts.temperatureFault}
            inputMode="decimal"
            autoComplete="off"
            placeholder="–"
          />
        </div>
        <SelectField
          label={texts.effort}
          value={fields.effort}
          options={(['default', 'low', 'medium', 'high'] as const).map(value => ({
            value,
            label: texts.efforts[value],
          }))}
        />
        <SelectField
          label={texts.output}
          value={fields.output}
          options={(['text', 'json', 'schema'] as const).map(value => ({ value, label: texts.outputs[value] }))}
          hint={fields.output.value === 'json' ? texts.jsonHint : undefined}
        />
        {fields.output.value === 'schema' && (
          <TextAreaField
            label={texts.schema}
            value={fields.schema}
            error={faults.schema && texts.schemaFault}
            rows={8}
            isCode
          />
        )}
        <CheckField label={texts.useTools} value={fields.hasTools} />
        {fields.hasTools.value && <ToolFields fault={faults.tools} />}
      </div>
    </details>
  )
}

function ToolFields({ fault }: { readonly fault: ToolsFault | undefined }) {
  const texts = t().playground
  const { tools, toolUse } = settings.value
  return (
    <>
      <TextAreaField
        label={texts.tools}
        hint={texts.toolsHint}
        value={tools}
        error={fault && faultText(fault)}
        rows={10}
        isCode
      />
      {tools.value.trim() === '' && (
        <Button
          size="small"
          onClick={() => {
            tools.value = EXAMPLE_TOOLS
          }}
        >
          {texts.example}
        </Button>
      )}
      <SelectField
        label={texts.toolUse}
        value={toolUse}
        options={(['auto', 'required', 'none'] as const).map(value => ({ value, label: texts.toolUses[value] }))}
      />
    </>
  )
}

function faultText(fault: ToolsFault): string {
  const texts = t().playground.toolsFaults
  switch (fault.kind) {
    case 'json':
    case 'list':
      return texts[fault.kind]
    case 'name':
    case 'twice':
      return texts[fault.kind](fault.at)
  }
}
