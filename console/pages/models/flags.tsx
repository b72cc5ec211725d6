import type { ModelView } from '../../../src/admin/contract.ts'
import { t } from '../../app/language.ts'
import { Badge } from '../../kit/index.ts'

/** What sets a model apart, in words. */
export function Flags({ model }: { readonly model: ModelView }) {
  const texts = t().models.flags
  return (
    <>
      {!model.enabled && <Badge tone="warn">{texts.off}</Badge>}
      {model.recommended && <Badge tone="accent">{texts.recommended}</Badge>}
      {model.reasoning && <Badge>{texts.reasoning}</Badge>}
      {model.images === 'forward' && <Badge>{texts.images}</Badge>}
    </>
  )
}
