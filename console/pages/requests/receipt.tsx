import type { ReceiptView, UsageReceiptView } from '../../../src/admin/contract.ts'
import { isNegative, isZero } from '../../app/decimal.ts'
import { date, exactMoney, number } from '../../app/format.ts'
import { t } from '../../app/language.ts'
import { href } from '../../app/router.ts'
import { isAdmin } from '../../app/session.ts'
import { Part } from '../../kit/index.ts'

/** The bill line by line, so that anyone can compute it again: exact, to the last digit. */
export function Receipt({ request }: { readonly request: UsageReceiptView }) {
  const texts = t().requests
  const { receipt } = request
  const { price } = receipt
  return (
    <Part
      title={texts.receipt}
      actions={price && <span class="small faint">{texts.priceVersion(price.version, date(price.since))}</span>}
    >
      {price ? <Arithmetic arithmetic={receipt.arithmetic} /> : <p class="faint">{texts.unpriced}</p>}
      <Money receipt={receipt} account={request.account} />
    </Part>
  )
}

function Exact({ amount }: { readonly amount: string }) {
  return (
    <data class="money" value={amount}>
      {exactMoney(amount)}
    </data>
  )
}

function Arithmetic({ arithmetic }: { readonly arithmetic: ReceiptView['arithmetic'] }) {
  const texts = t().requests
  const { lines, sum, rounding, total } = arithmetic
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable without a pointer.
    <div class="requests-receipt" tabIndex={0} role="region" aria-label={texts.receipt}>
      <table>
        <thead>
          <tr>
            <th scope="col">{texts.class}</th>
            <th scope="col" class="numeric">
              {texts.count}
            </th>
            <th scope="col" class="numeric">
              × {texts.pricePerMillion}
            </th>
            <th scope="col" class="numeric">
              = {texts.amount}
            </th>
          </tr>
        </thead>
        <tbody>
          {lines.map(line => (
            <tr key={line.class} class={line.tokens === 0 ? 'faint' : undefined}>
              <th scope="row">{texts.classes[line.class]}</th>
              <td class="numeric">{number(line.tokens)}</td>
              <td class="numeric">
                <Exact amount={line.price} />
              </td>
              <td class="numeric">
                <Exact amount={line.amount} />
              </td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <SumRow title={texts.sum} amount={sum} />
          {!isZero(rounding) && <SumRow title={texts.rounding} amount={rounding} />}
          <SumRow title={texts.totalCharged} amount={total} isTotal />
        </tfoot>
      </table>
    </div>
  )
}

function SumRow({
  title,
  amount,
  isTotal,
}: {
  readonly title: string
  readonly amount: string
  readonly isTotal?: boolean
}) {
  return (
    <tr class={isTotal ? 'requests-total' : undefined}>
      <th scope="row" colSpan={3}>
        {title}
      </th>
      <td class="numeric">
        <Exact amount={amount} />
      </td>
    </tr>
  )
}

/** What became of the hold, and the entry in the ledger that anyone can look up. */
function Money({ receipt, account }: { readonly receipt: ReceiptView; readonly account: string }) {
  const texts = t().requests
  const { hold, entry } = receipt
  const isOver = isNegative(hold.returned)
  return (
    <dl class="requests-lines">
      {!isZero(hold.amount) && (
        <>
          <Line title={texts.holdLine} amount={hold.amount} />
          <Line
            title={isOver ? texts.overdrawnLine : texts.returnedLine}
            amount={isOver ? hold.returned.slice(1) : hold.returned}
          />
        </>
      )}
      {entry ? (
        <>
          <Line title={texts.entryLine(entry.id)} amount={entry.amount} />
          <Line title={texts.balanceAfter} amount={entry.balance} />
          <div>
            <dt>
              <a href={href('/billing', { account: isAdmin.value ? account : null })}>{texts.openLedger}</a>
            </dt>
          </div>
        </>
      ) : (
        <div>
          <dt>{texts.noEntry}</dt>
        </div>
      )}
    </dl>
  )
}

function Line({ title, amount }: { readonly title: string; readonly amount: string }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>
        <Exact amount={amount} />
      </dd>
    </div>
  )
}
