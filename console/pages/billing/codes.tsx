import type { CodeView } from '../../../src/admin/contract.ts'
import { api } from '../../app/api.ts'
import { money, now } from '../../app/format.ts'
import { t } from '../../app/language.ts'
import { usePages } from '../../app/resource.ts'
import { href, pathTo, query, setQuery } from '../../app/router.ts'
import { toast, toastError } from '../../app/toasts.tsx'
import {
  Badge,
  Button,
  type Column,
  confirm,
  Empty,
  IconButton,
  Load,
  Money,
  Pager,
  Table,
  Time,
  type Tone,
} from '../../kit/index.ts'
import { NewCodesDialog } from './new-codes.tsx'

type State = 'open' | 'redeemed' | 'expired'

function stateOf({ redeemed_at, expires_at }: CodeView): State {
  if (redeemed_at !== null) return 'redeemed'
  return expires_at !== null && Date.parse(expires_at) <= now.value ? 'expired' : 'open'
}

const TONES: Readonly<Record<State, Tone>> = { open: 'good', redeemed: 'neutral', expired: 'warn' }

const openNew = () => setQuery({ create: true })

/** For admins: what was handed out, and what became of it. */
export function Codes() {
  const texts = t().billing
  const codes = usePages<CodeView>('/codes')
  const revoke = async (code: CodeView) => {
    const isSure = await confirm({
      title: texts.revokeTitle(code.hint),
      text: texts.revokeText(money(code.amount)),
      action: texts.revoke,
      isDangerous: true,
    })
    if (!isSure) return
    try {
      await api.delete(pathTo('codes', code.id))
      codes.mutate(list => ({ ...list, data: list.data.filter(({ id }) => id !== code.id) }))
      toast(texts.revoked)
    } catch (error) {
      toastError(error)
      // Somebody may have redeemed it in the meantime.
      codes.refresh()
    }
  }
  return (
    <>
      <div class="billing-part">
        <p>{texts.codesText}</p>
        <Button icon="plus" onClick={openNew}>
          {texts.createCodes}
        </Button>
      </div>
      <Load resource={codes}>
        {({ data }) => (
          <Table
            caption={texts.codes}
            rows={data}
            columns={columns(revoke)}
            keyOf={code => code.id}
            isFaint={code => stateOf(code) !== 'open'}
            empty={<Empty icon="gift" title={texts.noCodes} text={texts.noCodesText} />}
          />
        )}
      </Load>
      <Pager paging={codes.paging} />
      {query.value.has('create') && (
        <NewCodesDialog onCreated={() => codes.refresh()} onClose={() => setQuery({ create: null })} />
      )}
    </>
  )
}

function columns(revoke: (code: CodeView) => void): readonly Column<CodeView>[] {
  const texts = t().billing
  return [
    { id: 'code', title: texts.code, cell: code => <code>{code.hint}</code> },
    { id: 'amount', title: texts.amount, isNumeric: true, cell: code => <Money amount={code.amount} /> },
    {
      id: 'state',
      title: t().common.status,
      cell: code => <Badge tone={TONES[stateOf(code)]}>{texts.codeStates[stateOf(code)]}</Badge>,
    },
    { id: 'account', title: texts.redeemedBy, cell: code => <Redeemed code={code} /> },
    { id: 'note', title: texts.note, isMinor: true, cell: code => <span class="billing-note">{code.note}</span> },
    { id: 'created', title: t().common.created, isMinor: true, cell: code => <Time at={code.created_at} /> },
    {
      id: 'expires',
      title: t().common.expires,
      isMinor: true,
      cell: code => <Time at={code.expires_at} none={t().common.never} />,
    },
    {
      id: 'actions',
      title: t().common.actions,
      isActions: true,
      cell: code =>
        code.redeemed_at === null && (
          <IconButton icon="trash" label={`${texts.revoke} ${code.hint}`} onClick={() => revoke(code)} />
        ),
    },
  ]
}

function Redeemed({ code: { account, account_name, redeemed_at } }: { readonly code: CodeView }) {
  if (account === null) return <span class="faint">–</span>
  return (
    <span class="billing-note">
      <a href={href('/billing', { account })}>{account_name ?? account}</a> <Time at={redeemed_at} />
    </span>
  )
}
