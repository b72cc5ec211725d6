import { useSignal } from '@preact/signals'
import type { List, ModelView } from '../../../src/admin/contract.ts'
import { keep, kept } from '../../app/keep.ts'
import { t } from '../../app/language.ts'
import { useResource } from '../../app/resource.ts'
import { session } from '../../app/session.ts'
import { Code, SelectField, Skeleton, Tabs } from '../../kit/index.ts'
import { SNIPPETS, type SnippetModel, type SnippetName, type SnippetPart, snippet } from './snippets.ts'

interface ConnectProps {
  /** The secret, or what stands for it. */
  readonly secret: string
  /** Those the key may call; null for all. */
  readonly models: readonly string[] | null
}

/** Ready programs and settings for one key. */
export function Connect({ secret, models }: ConnectProps) {
  const catalog = useResource<List<ModelView>>('/models')
  if (catalog.data) return <Ready secret={secret} models={usable(catalog.data.data, models)} />
  // Without the catalog any model that is named will do: the form of the call is what matters.
  if (catalog.error) return <Ready secret={secret} models={[{ id: models?.[0] ?? 'vendor/model', ...UNKNOWN }]} />
  return <Skeleton height="14rem" />
}

const UNKNOWN = { contextLength: 128_000, maxOutputTokens: 8_000 }

/** The recommended ones first: the first is what the snippets are filled in with. */
function usable(catalog: readonly ModelView[], allowed: readonly string[] | null): readonly SnippetModel[] {
  const callable = catalog.filter(({ id, enabled, price }) => enabled && price && (allowed?.includes(id) ?? true))
  const sorted = callable.toSorted((a, b) => Number(b.recommended) - Number(a.recommended))
  return sorted.map(model => ({
    id: model.id,
    contextLength: model.context_length,
    maxOutputTokens: model.max_output_tokens,
  }))
}

const asName = (text: string | null): SnippetName => SNIPPETS.find(name => name === text) ?? 'curl'

function Ready({ secret, models }: { readonly secret: string; readonly models: readonly SnippetModel[] }) {
  const texts = t().keys
  const chosen = useSignal(models[0]?.id ?? '')
  const name = useSignal<SnippetName>(asName(kept('snippet')))
  const model = models.find(({ id }) => id === chosen.value) ?? { id: 'vendor/model', ...UNKNOWN }
  const parts = snippet(name.value, { baseUrl: session.value?.base_url ?? '', key: secret, model })
  const hint = (texts.snippetHints as Partial<Record<SnippetName, string>>)[name.value]
  return (
    <div class="stack keys-connect">
      {models.length > 1 && (
        <SelectField
          label={texts.snippetModel}
          value={chosen}
          options={models.map(({ id }) => ({ value: id, label: id }))}
        />
      )}
      <Tabs
        label={texts.snippetsLabel}
        tabs={SNIPPETS.map(id => ({ id, label: texts.snippetNames[id] }))}
        current={name.value}
        onChange={next => {
          name.value = next
          keep('snippet', next)
        }}
      >
        <div class="stack tight">
          {hint && <p class="small faint">{hint}</p>}
          {parts.map(part => (
            <Part key={part.id} part={part} name={texts.snippetNames[name.value]} />
          ))}
          <p class="small faint">{texts.baseNote}</p>
        </div>
      </Tabs>
    </div>
  )
}

function Part({ part, name }: { readonly part: SnippetPart; readonly name: string }) {
  const texts = t().keys.snippetParts
  const title = part.id === 'file' ? texts.file(part.file ?? '') : texts[part.id]
  return (
    <div>
      <p class="keys-part-title">{title}</p>
      <Code text={part.text} label={`${name}: ${title}`} isLow />
    </div>
  )
}
