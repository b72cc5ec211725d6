import type { ComponentChildren } from 'preact'
import type { ModelView } from '../../../src/admin/contract.ts'
import { api } from '../../app/api.ts'
import { t } from '../../app/language.ts'
import { go, pathTo } from '../../app/router.ts'
import { toast } from '../../app/toasts.tsx'
import {
  Button,
  CheckField,
  Dialog,
  Form,
  MoneyField,
  Note,
  SelectField,
  type Submission,
  TextAreaField,
  TextField,
  useSubmit,
} from '../../kit/index.ts'
import { faultsOf, useFirstFault } from '../channels/faults.ts'
import { FaultList } from '../channels/reload.tsx'
import { type Models, show } from './actions.ts'
import { CLASSES, type Draft, isSamePrice, settingsOf, typedPrice, useDraft } from './draft.ts'
import { isPriceMeant, PriceTable, priceTitles } from './price.tsx'

const FIELDS = [
  ...['id', 'name', 'description', 'price.input', 'price.output', 'price.cache_read', 'price.cache_write'],
  ...['price', 'context_length', 'max_output_tokens', 'images'],
]

const ID = /^[^/\s]+\/\S+$/

interface ModelFormProps {
  readonly models: Models
  readonly onClose: () => void
}

export function NewModel({ models, onClose }: ModelFormProps) {
  const texts = t().models
  const draft = useDraft()
  const form = useSubmit(async () => {
    const id = draft.id.value.trim()
    if (!ID.test(id)) form.refuse('id', texts.form.badId)
    if (!isPriceReady(draft, form) || !ID.test(id)) return
    const added = await api.post<ModelView>('/models', { id, ...settingsOf(draft) })
    show(models, added)
    toast(texts.form.added(added.id))
    go(pathTo('models', added.id), { replace: true })
  })
  return (
    <FormDialog title={texts.add} action={texts.add} form={form} onClose={onClose}>
      <Fields draft={draft} form={form} />
    </FormDialog>
  )
}

export function EditModel({ models, model, onClose }: ModelFormProps & { readonly model: ModelView }) {
  const texts = t().models
  const draft = useDraft(model)
  const form = useSubmit(async () => {
    if (!isPriceReady(draft, form)) return
    const changes = settingsOf(draft, model)
    if ('price' in changes && !(await isPriceMeant(typedPrice(draft), model))) return
    if (Object.keys(changes).length > 0) {
      show(models, await api.patch<ModelView>(pathTo('models', model.id), changes))
      toast(t().common.saved)
    }
    onClose()
  })
  return (
    <FormDialog title={texts.form.editTitle(model.name)} action={t().common.save} form={form} onClose={onClose}>
      <Fields draft={draft} form={form} model={model} />
    </FormDialog>
  )
}

interface FormDialogProps {
  readonly title: string
  readonly action: string
  readonly form: Submission
  readonly onClose: () => void
  readonly children: ComponentChildren
}

function FormDialog({ title, action, form, onClose, children }: FormDialogProps) {
  const isListed = form.error?.code === 'invalid_field' && form.error.param !== undefined
  return (
    <Dialog
      title={title}
      look="large"
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{t().common.cancel}</Button>
          <Button type="submit" form="model" kind="primary" isBusy={form.isBusy}>
            {action}
          </Button>
        </>
      }
    >
      <Form submission={form} id="model" fields={isListed ? [form.error?.param ?? ''] : FIELDS}>
        {children}
      </Form>
    </Dialog>
  )
}

function isPriceReady(draft: Draft, form: Submission): boolean {
  const typed = typedPrice(draft)
  if (typed.kind !== 'faulty') return true
  for (const name of typed.faults) form.refuse(`price.${name}`, t().models.form.notAPrice)
  return false
}

interface FieldsProps {
  readonly draft: Draft
  readonly form: Submission
  readonly model?: ModelView
}

function Fields({ draft, form, model }: FieldsProps) {
  const texts = t().models
  const faults = faultsOf(form.error, FIELDS)
  const errorOf = (field: string) => faults.of(field) ?? form.errorOf(field)
  const root = useFirstFault(form)
  return (
    <div class="stack" ref={root}>
      <div class="grid models-fields">
        {!model && (
          <TextField
            label={texts.form.id}
            hint={texts.form.idHint}
            placeholder="acme/swift-2"
            autofocus
            autoComplete="off"
            spellcheck={false}
            value={draft.id}
            error={errorOf('id')}
          />
        )}
        <TextField
          label={t().common.name}
          hint={texts.form.nameHint}
          isOptional
          maxLength={64}
          autofocus={model !== undefined}
          autoComplete="off"
          value={draft.name}
          error={errorOf('name')}
        />
      </div>
      <PriceFields draft={draft} errorOf={errorOf} />
      <PriceChange draft={draft} model={model} />
      <div class="grid models-fields">
        <TextField
          label={texts.contextLength}
          placeholder="128000"
          inputMode="numeric"
          suffix={texts.form.tokens}
          value={draft.context}
          error={errorOf('context_length')}
        />
        <TextField
          label={texts.maxOutput}
          placeholder="8192"
          inputMode="numeric"
          suffix={texts.form.tokens}
          value={draft.output}
          error={errorOf('max_output_tokens')}
        />
        <SelectField
          label={texts.imagesTitle}
          value={draft.images}
          error={errorOf('images')}
          options={(['ignore', 'reject', 'forward'] as const).map(value => ({ value, label: texts.images[value] }))}
        />
      </div>
      <div class="grid models-fields">
        <CheckField label={texts.flags.recommended} hint={texts.form.recommendedHint} value={draft.isRecommended} />
        <CheckField label={texts.flags.reasoning} hint={texts.form.reasoningHint} value={draft.isReasoning} />
      </div>
      <TextAreaField
        label={texts.form.description}
        isOptional
        rows={2}
        value={draft.description}
        error={errorOf('description')}
      />
      {faults.rest.length > 0 && <FaultList faults={faults.rest} />}
    </div>
  )
}

interface PriceFieldsProps {
  readonly draft: Draft
  readonly errorOf: (field: string) => string | undefined
}

function PriceFields({ draft, errorOf }: PriceFieldsProps) {
  const texts = t().models
  const titles = priceTitles()
  return (
    <fieldset class="models-price">
      <legend>{texts.form.price}</legend>
      <p class="field-hint">{texts.form.priceHint}</p>
      <div class="grid">
        {CLASSES.map(name => (
          <MoneyField
            key={name}
            label={titles[name]}
            value={draft.price[name]}
            placeholder={name.startsWith('cache') ? draft.price.input.value || '0.00' : '0.00'}
            error={errorOf(`price.${name}`) ?? (name === 'input' ? errorOf('price') : undefined)}
          />
        ))}
      </div>
    </fieldset>
  )
}

/** What a change of price will do, before it is done: a new version, beside the one in force. */
function PriceChange({ draft, model }: { readonly draft: Draft; readonly model: ModelView | undefined }) {
  const texts = t().models.form
  const typed = typedPrice(draft)
  const before = model?.price ?? null
  if (typed.kind === 'faulty') return null
  if (typed.kind === 'none') {
    if (!before) return <Note tone="warn">{t().models.unpricedText}</Note>
    return <Note tone="warn">{model?.overrides ? texts.priceRestored : t().models.unpricedText}</Note>
  }
  if (!before) return model ? <Note tone="accent">{texts.firstPrice}</Note> : null
  if (isSamePrice(before, typed.price)) return null
  return (
    <Note tone="accent" title={texts.newVersion(before.version + 1)}>
      {texts.newVersionText}
      <PriceTable before={before} after={typed.price} />
    </Note>
  )
}
