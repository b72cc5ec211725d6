import type { ReceiptView } from '../../../src/admin/contract.ts'
import { number } from '../../app/format.ts'
import { t } from '../../app/language.ts'
import { Facts, Part } from '../../kit/index.ts'

const CLASSES = ['input', 'cache_read', 'cache_write', 'output'] as const

/** How many of each kind, and who counted. */
export function TokensByClass({ tokens }: { readonly tokens: ReceiptView['tokens'] }) {
  const texts = t().requests
  const isAnything = CLASSES.some(name => tokens[name] > 0)
  return (
    <Part
      title={texts.tokensByClass}
      actions={isAnything && <span class="small faint">{texts.sources[tokens.source]}</span>}
    >
      <Facts
        facts={CLASSES.map(
          name =>
            [
              texts.classes[name],
              <span key={name} class="numeric">
                {number(tokens[name])}
                {name === 'output' && tokens.reasoning > 0 && (
                  <span class="faint small"> {texts.ofWhichReasoning(number(tokens.reasoning))}</span>
                )}
              </span>,
            ] as const,
        )}
      />
    </Part>
  )
}
