import { type Signal, signal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import type { ModelView, PriceView } from '../../../src/admin/contract.ts'
import { compare, readAmount } from '../../app/decimal.ts'

export const CLASSES = ['input', 'output', 'cache_read', 'cache_write'] as const
export type PriceClass = (typeof CLASSES)[number]

type Images = ModelView['images']

/** A model while it is written. */
export interface Draft {
  readonly id: Signal<string>
  readonly name: Signal<string>
  readonly description: Signal<string>
  readonly price: Readonly<Record<PriceClass, Signal<string>>>
  readonly context: Signal<string>
  readonly output: Signal<string>
  readonly images: Signal<Images>
  readonly isRecommended: Signal<boolean>
  readonly isReasoning: Signal<boolean>
}

export function useDraft(model?: ModelView): Draft {
  return useMemo(() => {
    const price = (name: PriceClass) => signal(model?.price?.[name] ?? '')
    return {
      id: signal(model?.id ?? ''),
      name: signal(model?.name ?? ''),
      description: signal(model?.description ?? ''),
      price: {
        input: price('input'),
        output: price('output'),
        cache_read: price('cache_read'),
        cache_write: price('cache_write'),
      },
      context: signal(model ? String(model.context_length) : ''),
      output: signal(model ? String(model.max_output_tokens) : ''),
      images: signal<Images>(model?.images ?? 'ignore'),
      isRecommended: signal(model?.recommended ?? false),
      isReasoning: signal(model?.reasoning ?? false),
    }
  }, [model?.id])
}

/**
 * What was typed as a price. `none` where all four are empty; else each class, where cached tokens cost as much as
 * others unless it is said. A class that is no amount is named.
 */
export type TypedPrice =
  | { readonly kind: 'none' }
  | { readonly kind: 'price'; readonly price: PriceView }
  | { readonly kind: 'faulty'; readonly faults: readonly PriceClass[] }

export function typedPrice({ price }: Draft): TypedPrice {
  if (CLASSES.every(name => price[name].value.trim() === '')) return { kind: 'none' }
  const input = readAmount(price.input.value)
  const read = (name: PriceClass) => (price[name].value.trim() === '' ? input : readAmount(price[name].value))
  const amounts = {
    ...{ input, output: readAmount(price.output.value) },
    ...{ cache_read: read('cache_read'), cache_write: read('cache_write') },
  }
  const faults = CLASSES.filter(name => amounts[name] === undefined && (price[name].value !== '' || isNeeded(name)))
  if (faults.length > 0) return { kind: 'faulty', faults }
  return { kind: 'price', price: amounts as PriceView }
}

const isNeeded = (name: PriceClass): boolean => name === 'input' || name === 'output'

export const isSamePrice = (a: PriceView, b: PriceView): boolean =>
  CLASSES.every(name => compare(a[name], b[name]) === 0)

/** In the words of the configuration file. Of a model that is there already, only what was changed. */
export function settingsOf(draft: Draft, model?: ModelView): Record<string, unknown> {
  const all: Record<string, unknown> = {
    name: draft.name.value.trim() || null,
    description: draft.description.value.trim() || null,
    context_length: numberOf(draft.context.value),
    max_output_tokens: numberOf(draft.output.value),
    images: draft.images.value,
    recommended: draft.isRecommended.value,
    reasoning: draft.isReasoning.value,
  }
  const before: Record<string, unknown> = { ...model }
  const changed = Object.entries(all).filter(([name, value]) =>
    model ? (value ?? '') !== (before[name] ?? '') : value !== null,
  )
  return { ...Object.fromEntries(changed), ...priceOf(draft, model) }
}

/** What is no number goes on as it is, for the server to refuse. */
function numberOf(text: string): number | string | null {
  const digits = text.trim().replaceAll(/[,_\s]/g, '')
  if (digits === '') return null
  return /^\d+$/.test(digits) ? Number(digits) : digits
}

function priceOf(draft: Draft, model: ModelView | undefined): object {
  const typed = typedPrice(draft)
  const before = model?.price ?? null
  if (typed.kind === 'price') return before && isSamePrice(typed.price, before) ? {} : { price: typed.price }
  return before ? { price: null } : {}
}
