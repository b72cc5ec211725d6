import type { AccountView, DepositView } from '../../../src/admin/contract.ts'
import { t } from '../../app/language.ts'
import { go, query, setQuery } from '../../app/router.ts'
import type { PageProps } from '../../app/routes.ts'
import { isAdmin } from '../../app/session.ts'
import { Button, Empty, Load, Menu, PageHeader, SkeletonRows, SkeletonStats, Tabs } from '../../kit/index.ts'
import { useBilledAccount } from './account.ts'
import { AccountChoice } from './account-choice.tsx'
import { AdjustDialog } from './adjust.tsx'
import { Codes } from './codes.tsx'
import { Ledger, useEntries } from './ledger.tsx'
import { Notice } from './notice.tsx'
import { RedeemDialog } from './redeem.tsx'
import { Standing } from './standing.tsx'
import { TopUpDialog } from './top-up.tsx'

type Part = 'ledger' | 'codes' | 'notice'

export function Page({ rest: [part] }: PageProps) {
  const billed = useBilledAccount()
  const { wanted } = billed
  return (
    <>
      <PageHeader
        title={t().nav.billing}
        text={t().billing.intro}
        actions={
          <>
            <AccountChoice current={billed.data} />
            {billed.data && <Actions />}
          </>
        }
      />
      {wanted === undefined ? (
        <Empty icon="billing" title={t().billing.chooseTitle} text={t().billing.chooseText} />
      ) : (
        <Load resource={billed} skeleton={<BillingSkeleton />}>
          {account => (
            <Billing
              key={account.id}
              account={account}
              part={partOf(part)}
              onAccount={changed => billed.mutate(() => changed)}
            />
          )}
        </Load>
      )}
    </>
  )
}

function partOf(part: string | undefined): Part {
  if (part === 'codes' && isAdmin.value) return 'codes'
  return part === 'notice' ? 'notice' : 'ledger'
}

/** Dialogs are in the address, so that other pages and the palette can lead to them. */
const open = (dialog: 'topup' | 'redeem' | 'adjust') => setQuery({ [dialog]: true })
const close = () => setQuery({ topup: null, redeem: null, adjust: null })

function Actions() {
  const texts = t().billing
  return (
    <>
      <Button kind={isAdmin.value ? 'secondary' : 'primary'} icon="gift" onClick={() => open('redeem')}>
        {texts.redeem}
      </Button>
      {isAdmin.value && (
        <>
          <Button kind="primary" icon="plus" onClick={() => open('topup')}>
            {texts.topUp}
          </Button>
          <Menu label={texts.more} items={[{ label: texts.adjust, icon: 'edit', onSelect: () => open('adjust') }]} />
        </>
      )}
    </>
  )
}

interface BillingProps {
  readonly account: AccountView
  readonly part: Part
  readonly onAccount: (account: AccountView) => void
}

function Billing({ account, part, onAccount }: BillingProps) {
  const texts = t().billing
  const entries = useEntries(part === 'ledger' ? account.id : null, onAccount)
  const parts = [
    { id: 'ledger' as const, label: texts.ledger },
    ...(isAdmin.value ? [{ id: 'codes' as const, label: texts.codes }] : []),
    { id: 'notice' as const, label: texts.notice },
  ]
  const done = ({ account: changed, ...entry }: DepositView) => {
    onAccount(changed)
    entries.put(entry)
    close()
  }
  const dialog = { account, onDone: done, onClose: close }
  const show = (next: Part) =>
    go(next === 'ledger' ? '/billing' : `/billing/${next}`, { query: { account: query.value.get('account') } })
  return (
    <div class="billing">
      <Standing account={account} />
      <Tabs label={texts.sections} tabs={parts} current={part} onChange={show}>
        {part === 'ledger' && <Ledger account={account} entries={entries.pages} />}
        {part === 'codes' && <Codes />}
        {part === 'notice' && <Notice account={account} />}
      </Tabs>
      {query.value.has('topup') && isAdmin.value && <TopUpDialog {...dialog} />}
      {query.value.has('redeem') && <RedeemDialog {...dialog} />}
      {query.value.has('adjust') && isAdmin.value && <AdjustDialog {...dialog} />}
    </div>
  )
}

function BillingSkeleton() {
  return (
    <div class="billing">
      <SkeletonStats count={3} />
      <SkeletonRows />
    </div>
  )
}
