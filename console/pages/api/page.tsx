import { useComputed, useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import type { OpenApiView } from '../../../src/admin/contract.ts'
import { apiHref } from '../../app/api.ts'
import { useShortcuts } from '../../app/keys.ts'
import { t } from '../../app/language.ts'
import { useResource } from '../../app/resource.ts'
import { query } from '../../app/router.ts'
import { Card, Empty, FilterBar, LinkButton, Load, PageHeader, QuerySearch, QuerySelect } from '../../kit/index.ts'
import { CallRow } from './call.tsx'
import { callsOf, type Group, grouped } from './document.ts'
import { Prose } from './prose.tsx'

export function Page() {
  const document = useResource<OpenApiView>('/openapi.json')
  const texts = t().api
  return (
    <>
      <PageHeader
        title={t().nav.api}
        text={texts.intro}
        actions={
          <LinkButton icon="download" download href={apiHref('/openapi.json')}>
            openapi.json
          </LinkButton>
        }
      />
      <FilterBar names={['q', 'access']}>
        <QuerySearch name="q" label={texts.search} />
        <QuerySelect
          name="access"
          label={texts.whoMay}
          all={texts.anybody}
          options={(['open', 'member', 'admin'] as const).map(value => ({ value, label: texts.access[value] }))}
        />
      </FilterBar>
      <Load resource={document}>{data => <Reference document={data} />}</Load>
    </>
  )
}

function Reference({ document }: { readonly document: OpenApiView }) {
  const texts = t().api
  const calls = useMemo(() => callsOf(document), [document])
  const wanted = useHash()
  const groups = useComputed(() =>
    grouped(calls, { words: query.value.get('q') ?? '', access: query.value.get('access') ?? '' }),
  ).value
  useShortcuts({ j: () => step(1), k: () => step(-1) })
  if (groups.length === 0) return <Empty icon="search" title={texts.nothingFound} text={texts.nothingFoundText} />
  return (
    <div class="api">
      <Contents groups={groups} />
      <div class="api-main">
        <Basics />
        {groups.map(({ tag, calls }) => (
          <section key={tag} id={`tag-${tag}`} class="api-group">
            <h2>{tag}</h2>
            <div class="card">
              {calls.map(call => (
                <CallRow key={call.id} call={call} document={document} isWanted={call.id === wanted} />
              ))}
            </div>
          </section>
        ))}
      </div>
    </div>
  )
}

function Contents({ groups }: { readonly groups: readonly Group[] }) {
  return (
    <nav class="api-contents" aria-label={t().api.contents}>
      <ul>
        {groups.map(({ tag, calls }) => (
          <li key={tag}>
            <a href={`#tag-${tag}`}>
              <span>{tag}</span>
              <span class="faint numeric">{calls.length}</span>
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}

/** What holds for every call. */
function Basics() {
  const texts = t().api
  return (
    <Card>
      <dl class="api-basics">
        {texts.basics.map(([name, text]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <Prose text={text} />
            </dd>
          </div>
        ))}
      </dl>
    </Card>
  )
}

/** What stands behind the `#` of the address. */
function useHash(): string {
  const hash = useSignal(location.hash.slice(1))
  useEffect(() => {
    const follow = () => {
      hash.value = location.hash.slice(1)
    }
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  return hash.value
}

function step(by: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>('.api-call > summary')]
  const at = rows.indexOf(document.activeElement as HTMLElement)
  rows[Math.min(Math.max(at + by, 0), rows.length - 1)]?.focus()
}
