import { t } from '../app/language.ts'
import type { Paging } from '../app/resource.ts'
import { Button } from './button.tsx'

/** Below a list that comes in pages, newest first. Nothing where there is one page only. */
export function Pager({ paging }: { readonly paging: Paging }) {
  if (!paging.hasPrevious && !paging.hasNext) return null
  return (
    <nav class="pager" aria-label={t().common.pages}>
      <Button icon="back" isDisabled={!paging.hasPrevious} onClick={paging.previous}>
        {t().common.newer}
      </Button>
      <Button icon="chevron" isDisabled={!paging.hasNext} onClick={paging.next}>
        {t().common.older}
      </Button>
    </nav>
  )
}
