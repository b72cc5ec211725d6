import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { KeyView } from '../../../src/admin/contract.ts'
import { useShortcuts } from '../../app/keys.ts'
import { t } from '../../app/language.ts'
import { type Pages, type Resource, useResource } from '../../app/resource.ts'
import { go, pathTo, query } from '../../app/router.ts'
import { isAdmin } from '../../app/session.ts'
import { toast } from '../../app/toasts.tsx'
import { Button, Dialog, Facts, Form, Load, Part, SwitchField, TextField, Time, useSubmit } from '../../kit/index.ts'
import { Cap } from './cap.tsx'
import { type KeyChanges, patchKey, revoke, setEnabled } from './changes.ts'
import { Connect } from './connect.tsx'
import { ExpiryField, ModelsField, readExpiry, readModels, useLimits } from './limits.tsx'
import { isPaceOf, PACE_FIELDS, PaceFields, readPace, usePace } from './pace.tsx'
import { Recent } from './recent.tsx'
import { KeyStatus } from './status.tsx'
import { Storing } from './storing.tsx'

interface KeyDetailProps {
  readonly id: string
  readonly list: Pages<KeyView, { readonly data: readonly KeyView[]; readonly next: string | null }>
  readonly changes: KeyChanges
}

/** Beside the list, which stays usable. A key that is on another page of it is asked for by itself. */
export function KeyDetail({ id, list, changes }: KeyDetailProps) {
  const listed = list.rows?.find(row => row.id === id)
  const isLookedUp = listed !== undefined || (list.rows === undefined && list.isLoading)
  const alone = useResource<KeyView>(isLookedUp ? null : pathTo('keys', id))
  const shown: Resource<KeyView> = listed ? { ...alone, data: listed, error: undefined, isLoading: false } : alone
  const everywhere: KeyChanges = {
    ...changes,
    changed(key) {
      changes.changed(key)
      alone.mutate(() => key)
      // It was opened to be raised, and it is.
      if (query.value.has('raise')) go(pathTo('keys', id), { query: withoutRaise(), replace: true })
    },
  }
  const close = () => go('/keys', { query: withoutRaise(), state: history.state })
  useShortcuts({ Escape: close })
  return (
    <Dialog title={shown.data?.name ?? t().nav.keys} look="panel" isModal={false} onClose={close}>
      <Load resource={shown}>{key => <Content keyView={key} changes={everywhere} />}</Load>
    </Dialog>
  )
}

function withoutRaise() {
  const { raise: _raise, ...rest } = Object.fromEntries(query.value)
  return rest
}

interface ContentProps {
  readonly keyView: KeyView
  readonly changes: KeyChanges
}

function Content({ keyView: key, changes }: ContentProps) {
  const texts = t().keys
  return (
    <>
      <div class="row keys-head">
        <KeyStatus keyView={key} />
        <code>{key.hint}</code>
      </div>
      <Cap keyView={key} changes={changes} />
      <Part title={texts.settings}>
        <Enabled keyView={key} changes={changes} />
        <Settings keyView={key} changes={changes} />
        <Facts
          facts={[
            isAdmin.value && ([t().common.account, key.account_name] as const),
            [t().common.created, <Time key="created" at={key.created_at} />],
            [texts.lastUse, <Time key="last" at={key.last_used_at} none={texts.notUsed} />],
          ]}
        />
      </Part>
      <Recent keyView={key} />
      <Storing keyView={key} changes={changes} />
      <Part title={texts.connect}>
        <HowToUse keyView={key} />
      </Part>
      <Part title={texts.revokeSection}>
        <p class="faint">{texts.revokeSectionText}</p>
        <div>
          <Button kind="danger" icon="trash" onClick={() => revoke(key, changes)}>
            {texts.revokeAction}
          </Button>
        </div>
      </Part>
    </>
  )
}

function Enabled({ keyView: key, changes }: ContentProps) {
  const isOn = useSignal(key.enabled)
  useEffect(() => {
    isOn.value = key.enabled
  }, [key.enabled])
  return (
    <SwitchField
      label={t().keys.enabled}
      hint={t().keys.enabledHint}
      value={isOn}
      onChange={async enabled => {
        if (!(await setEnabled(key, enabled, changes))) isOn.value = !enabled
      }}
    />
  )
}

const NAME_CHARACTERS_MAX = 64

function Settings({ keyView: key, changes }: ContentProps) {
  const texts = t().keys
  const name = useSignal(key.name)
  const limits = useLimits(key)
  const pace = usePace(key)
  const before = useSignal({ expiry: limits.expiry.peek(), date: limits.date.peek() })
  const isSameExpiry = limits.expiry.value === before.value.expiry && limits.date.value === before.value.date
  const isSameModels = String(readModels(limits)) === String(key.models)
  const isChanged = name.value.trim() !== key.name || !isSameExpiry || !isSameModels || !isPaceOf(pace, key)

  const form = useSubmit(async () => {
    // The time of an expiry that nobody touched stays as it is, to the second.
    const expires_at = isSameExpiry ? key.expires_at : readExpiry(limits)
    const models = readModels(limits)
    const rates = readPace(pace, form)
    if (name.value.trim() === '') form.refuse('name', texts.nameMissing)
    if (expires_at === undefined) form.refuse('expires_at', texts.expiryMissing)
    if (models === undefined) form.refuse('models', texts.modelsMissing)
    if (name.value.trim() === '' || [expires_at, models, rates].includes(undefined)) return
    const given = { name: name.value.trim(), models, ...rates, ...(isSameExpiry ? {} : { expires_at }) }
    changes.changed(await patchKey(key.id, given))
    before.value = { expiry: limits.expiry.value, date: limits.date.value }
    toast(t().common.saved)
  })
  return (
    <Form submission={form} fields={['name', 'expires_at', 'models', ...PACE_FIELDS]}>
      <TextField
        label={t().common.name}
        value={name}
        error={form.errorOf('name')}
        maxLength={NAME_CHARACTERS_MAX}
        autoComplete="off"
      />
      <ExpiryField
        limits={limits}
        error={form.errorOf('expires_at')}
        end={isSameExpiry ? key.expires_at : readExpiry(limits)}
      />
      <ModelsField limits={limits} error={form.errorOf('models')} />
      <PaceFields pace={pace} form={form} />
      <div>
        <Button type="submit" kind="primary" isDisabled={!isChanged} isBusy={form.isBusy}>
          {t().common.save}
        </Button>
      </div>
    </Form>
  )
}

/** Fetched and drawn when somebody asks. */
function HowToUse({ keyView }: { readonly keyView: KeyView }) {
  const texts = t().keys
  const isOpen = useSignal(false)
  if (!isOpen.value) {
    return (
      <div>
        <Button icon="api" onClick={() => (isOpen.value = true)}>
          {texts.showSnippets}
        </Button>
      </div>
    )
  }
  return (
    <div class="stack">
      <p class="faint">{texts.connectText}</p>
      <Connect secret={texts.placeholder} models={keyView.models} />
    </div>
  )
}
