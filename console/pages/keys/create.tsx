import { useSignal } from '@preact/signals'
import type { NewKeyView } from '../../../src/admin/contract.ts'
import { api } from '../../app/api.ts'
import { readAmount } from '../../app/decimal.ts'
import { t } from '../../app/language.ts'
import { query } from '../../app/router.ts'
import { account, accounts, isAdmin } from '../../app/session.ts'
import { Button, Dialog, Form, MoneyField, Segments, SelectField, TextField, useSubmit } from '../../kit/index.ts'
import { ExpiryField, ModelsField, readExpiry, readModels, useLimits } from './limits.tsx'
import { PACE_FIELDS, PaceFields, readPace, usePace } from './pace.tsx'
import { capWarning } from './warning.ts'

const NAME_CHARACTERS_MAX = 64

interface CreateKeyProps {
  readonly onMade: (key: NewKeyView) => void
  readonly onClose: () => void
}

export function CreateKey({ onMade, onClose }: CreateKeyProps) {
  const texts = t().keys
  const name = useSignal('')
  const hasCap = useSignal(false)
  const cap = useSignal('')
  const limits = useLimits()
  const pace = usePace()
  const options = accountOptions()
  const warning = capWarning(cap.value, '0')
  const accountId = useSignal(query.value.get('account') ?? options[0]?.value ?? '')

  const form = useSubmit(async () => {
    const amount = hasCap.value ? readAmount(cap.value) : null
    const [expires_at, models, rates] = [readExpiry(limits), readModels(limits), readPace(pace, form)]
    if (name.value.trim() === '') form.refuse('name', texts.nameMissing)
    if (amount === undefined) form.refuse('cap', texts.notAnAmount)
    if (expires_at === undefined) form.refuse('expires_at', texts.expiryMissing)
    if (models === undefined) form.refuse('models', texts.modelsMissing)
    if (name.value.trim() === '' || [amount, expires_at, models, rates].includes(undefined)) return
    const given = { name: name.value.trim(), cap: amount, expires_at, models, ...rates }
    onMade(await api.post<NewKeyView>('/keys', isAdmin.value ? { ...given, account: accountId.value } : given))
  })

  return (
    <Dialog
      title={texts.createTitle}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{t().common.cancel}</Button>
          <Button type="submit" form="create-key" kind="primary" isBusy={form.isBusy}>
            {texts.create}
          </Button>
        </>
      }
    >
      <Form
        submission={form}
        id="create-key"
        fields={['name', 'cap', 'expires_at', 'models', 'account', ...PACE_FIELDS]}
      >
        <TextField
          label={t().common.name}
          hint={texts.nameHint}
          value={name}
          error={form.errorOf('name')}
          maxLength={NAME_CHARACTERS_MAX}
          autoComplete="off"
          autofocus
        />
        {isAdmin.value && options.length > 1 && (
          <SelectField label={t().common.account} value={accountId} options={options} error={form.errorOf('account')} />
        )}
        <div class="field">
          <span class="keys-label" aria-hidden="true">
            {texts.cap}
          </span>
          <div class="row">
            <Segments
              label={texts.cap}
              value={hasCap.value ? 'some' : 'none'}
              onChange={value => {
                hasCap.value = value === 'some'
              }}
              options={[
                { value: 'none', label: texts.capNone },
                { value: 'some', label: texts.capSome },
              ]}
            />
          </div>
          {hasCap.value ? (
            <MoneyField
              label={texts.capAmount}
              hint={warning ? <strong class="keys-warning">{warning}</strong> : texts.capHint}
              value={cap}
              error={form.errorOf('cap')}
            />
          ) : (
            <p class="field-hint">{texts.capNoneHint}</p>
          )}
        </div>
        <ExpiryField limits={limits} error={form.errorOf('expires_at')} end={readExpiry(limits)} />
        <ModelsField limits={limits} error={form.errorOf('models')} />
        <PaceFields pace={pace} form={form} />
      </Form>
    </Dialog>
  )
}

/** Those an admin can choose from, their own first. */
function accountOptions(): readonly { readonly value: string; readonly label: string }[] {
  const own = account.value
  const others = accounts.value.filter(({ id }) => id !== own?.id)
  return [...(own ? [own] : []), ...others].map(({ id, name }) => ({ value: id, label: name }))
}
