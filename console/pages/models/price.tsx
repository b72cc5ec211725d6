import type { ModelView, PriceView } from '../../../src/admin/contract.ts'
import { compare, isZero, ratio } from '../../app/decimal.ts'
import { number } from '../../app/format.ts'
import { t } from '../../app/language.ts'
import { Badge, confirm, Money, Note } from '../../kit/index.ts'
import { CLASSES, type PriceClass, type TypedPrice } from './draft.ts'

export const priceTitles = (): Record<PriceClass, string> => {
  const { input, output, cacheRead, cacheWrite } = t().models
  return { input, output, cache_read: cacheRead, cache_write: cacheWrite }
}

/** A price is in force with the next request and cannot be taken back for those it billed: it is looked at twice. */
export async function isPriceMeant(typed: TypedPrice, { name, price, overrides }: ModelView): Promise<boolean> {
  const { form: texts, unpricedText } = t().models
  if (!price) return true
  if (typed.kind !== 'price')
    return confirm({
      title: texts.dropTitle(name),
      text: overrides ? texts.priceRestored : unpricedText,
      action: texts.dropAction,
      isDangerous: true,
    })
  const isLarge = CLASSES.some(row => leapOf(price[row], typed.price[row]) !== undefined)
  return confirm({
    title: texts.changeTitle(name),
    text: (
      <div class="stack">
        {isLarge && <Note tone="warn">{texts.largeChange}</Note>}
        <PriceTable before={price} after={typed.price} />
        <p>{texts.newVersionText}</p>
      </div>
    ),
    action: texts.changeAction,
    isDangerous: isLarge,
  })
}

/** More than double or less than half is more often a slip of the finger than meant. */
const LEAP = 2

/** How many times as much, or as little; undefined where it is no leap. */
function leapOf(before: string, after: string): string | undefined {
  const texts = t().models.form
  if (compare(before, after) === 0) return undefined
  if (isZero(before)) return texts.wasFree
  if (isZero(after)) return texts.becomesFree
  const [up, down] = [ratio(after, before), ratio(before, after)]
  if (up > LEAP) return texts.times(rounded(up))
  return down > LEAP ? texts.part(rounded(down)) : undefined
}

const rounded = (factor: number): string => number(Number(factor.toPrecision(3)))

interface PriceTableProps {
  readonly before: PriceView
  readonly after: PriceView
}

export function PriceTable({ before, after }: PriceTableProps) {
  const texts = t().models.form
  const titles = priceTitles()
  return (
    <table class="models-change">
      <caption class="hidden-text">{texts.price}</caption>
      <thead>
        <tr>
          <th scope="col">
            <span class="hidden-text">{texts.price}</span>
          </th>
          <th scope="col">{texts.before}</th>
          <th scope="col">{texts.after}</th>
          <th scope="col">
            <span class="hidden-text">{texts.factor}</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {CLASSES.map(name => {
          const leap = leapOf(before[name], after[name])
          return (
            <tr key={name} class={compare(before[name], after[name]) === 0 ? 'faint' : 'strong'}>
              <th scope="row">{titles[name]}</th>
              <td>
                <Money amount={before[name]} />
              </td>
              <td>
                <Money amount={after[name]} />
              </td>
              <td>{leap && <Badge tone="warn">{leap}</Badge>}</td>
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}
