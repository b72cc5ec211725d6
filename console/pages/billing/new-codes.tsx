import { useSignal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import type { List, NewCodeView } from '../../../src/admin/contract.ts'
import { api } from '../../app/api.ts'
import { add, readAmount } from '../../app/decimal.ts'
import { money } from '../../app/format.ts'
import { t } from '../../app/language.ts'
import {
  Button,
  Code,
  CopyButton,
  Dialog,
  Form,
  LinkButton,
  MoneyField,
  Note,
  SelectField,
  TextField,
  useSubmit,
} from '../../kit/index.ts'
import { positiveAmount } from './deposit.ts'

const COUNT_MAX = 500
const NOTE_CHARACTERS_MAX = 1_000
const DAY_MS = 86_400_000

const EXPIRY_DAYS = { never: null, week: 7, month: 30, quarter: 90, year: 365 } as const
type Expiry = keyof typeof EXPIRY_DAYS
const EXPIRIES = Object.keys(EXPIRY_DAYS) as readonly Expiry[]

function expiryTime(expiry: Expiry): string | null {
  const days = EXPIRY_DAYS[expiry]
  return days === null ? null : new Date(Date.now() + days * DAY_MS).toISOString()
}

interface NewCodesProps {
  readonly onCreated: () => void
  readonly onClose: () => void
}

/** First what they shall be, then, once, the codes themselves. */
export function NewCodesDialog({ onCreated, onClose }: NewCodesProps) {
  const codes = useSignal<readonly string[] | null>(null)
  if (codes.value) return <CreatedCodes codes={codes.value} onClose={onClose} />
  return (
    <CodesForm
      onClose={onClose}
      onCreated={created => {
        codes.value = created
        onCreated()
      }}
    />
  )
}

interface CodesFormProps {
  readonly onCreated: (codes: readonly string[]) => void
  readonly onClose: () => void
}

function CodesForm({ onCreated, onClose }: CodesFormProps) {
  const texts = t().billing
  const typed = useSignal('20')
  const count = useSignal('1')
  const note = useSignal('')
  const expiry = useSignal<Expiry>('never')
  const form = useSubmit(async () => {
    const amount = positiveAmount(typed.value, form)
    const many = readCount(count.value)
    if (many === undefined) form.refuse('count', texts.notACount)
    if (amount === undefined || many === undefined) return
    const expires = expiryTime(expiry.value)
    const body = { amount, count: many, note: note.value.trim() || null, expires_at: expires }
    const { data } = await api.post<List<NewCodeView>>('/codes', body)
    onCreated(data.map(({ code }) => code))
  })
  const many = readCount(count.value)
  const amount = readAmount(typed.value)
  return (
    <Dialog
      title={texts.createCodes}
      look="small"
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{t().common.cancel}</Button>
          <Button type="submit" form="new-codes" kind="primary" isBusy={form.isBusy}>
            {texts.create(many ?? 1)}
          </Button>
        </>
      }
    >
      <Form submission={form} id="new-codes" fields={['amount', 'count', 'note', 'expires_at']}>
        <MoneyField label={texts.otherAmount} value={typed} error={form.errorOf('amount')} autofocus />
        <TextField
          label={texts.count}
          value={count}
          inputMode="numeric"
          autoComplete="off"
          error={form.errorOf('count')}
          hint={many && amount ? texts.codesTotal(many, money(times(amount, many))) : texts.countHint}
        />
        <SelectField
          label={texts.expiry}
          value={expiry}
          error={form.errorOf('expires_at')}
          options={EXPIRIES.map(value => ({ value, label: texts.expiries[value] }))}
        />
        <TextField
          label={texts.note}
          value={note}
          error={form.errorOf('note')}
          maxLength={NOTE_CHARACTERS_MAX}
          isOptional
        />
      </Form>
    </Dialog>
  )
}

function readCount(typed: string): number | undefined {
  const text = typed.trim()
  const count = Number(text)
  return /^\d{1,4}$/.test(text) && count >= 1 && count <= COUNT_MAX ? count : undefined
}

const times = (amount: string, count: number): string => Array.from({ length: count }, () => amount).reduce(add)

function CreatedCodes({ codes, onClose }: { readonly codes: readonly string[]; readonly onClose: () => void }) {
  const texts = t().billing
  const text = codes.join('\n')
  const file = useFile(`${text}\n`)
  return (
    <Dialog
      title={texts.createdTitle(codes.length)}
      look="small"
      isDismissible={false}
      onClose={onClose}
      footer={
        <>
          <LinkButton icon="download" download="duet-codes.txt" href={file}>
            {texts.download}
          </LinkButton>
          <CopyButton text={text} label={texts.copyAll(codes.length)} />
          <Button kind="primary" onClick={onClose}>
            {t().common.done}
          </Button>
        </>
      }
    >
      <div class="stack">
        <Note tone="warn">{texts.shownOnce}</Note>
        <Code text={text} label={texts.createdTitle(codes.length)} isLow />
      </div>
    </Dialog>
  )
}

/** An address for a file that exists in this page only. */
function useFile(text: string): string {
  const [url] = useState(() => URL.createObjectURL(new Blob([text], { type: 'text/plain' })))
  useEffect(() => () => URL.revokeObjectURL(url), [url])
  return url
}
