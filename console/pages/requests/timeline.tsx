import type { AttemptView, UsageReceiptView } from '../../../src/admin/contract.ts'
import { isZero } from '../../app/decimal.ts'
import { duration, money } from '../../app/format.ts'
import { t } from '../../app/language.ts'
import { Part } from '../../kit/index.ts'
import { RequestStatus } from './status.tsx'

interface Span {
  readonly attempt: AttemptView
  readonly startMs: number
}

/** One after the other; what the attempts do not account for was before the first. */
function spansOf(attempts: readonly AttemptView[], totalMs: number): readonly Span[] {
  const takenMs = attempts.reduce((sum, { duration_ms }) => sum + duration_ms, 0)
  let startMs = Math.max(0, totalMs - takenMs)
  return attempts.map(attempt => {
    const span = { attempt, startMs }
    startMs += attempt.duration_ms
    return span
  })
}

/** From the hold to the settlement, to scale. Every length is also said in words. */
export function Timeline({ request }: { readonly request: UsageReceiptView }) {
  const texts = t().requests
  const { hold, attempts, timings, arithmetic } = request.receipt
  const totalMs = Math.max(timings.duration_ms, 1)
  return (
    <Part title={texts.timeline}>
      <ol class="requests-timeline">
        <li>
          <div class="requests-step">
            <span>{isZero(hold.amount) ? texts.notHeld : texts.held(money(hold.amount))}</span>
            <span class="faint">{texts.start}</span>
          </div>
          <Track>
            <span class="requests-point" style={{ insetInlineStart: '0%' }} />
          </Track>
        </li>
        {attempts.length === 0 && (
          <li>
            <div class="requests-step">
              <span>{texts.refusedBefore}</span>
              <RequestStatus status={request.status} model={request.model} />
            </div>
          </li>
        )}
        {spansOf(attempts, totalMs).map((span, index) => (
          <Attempt key={span.startMs} span={span} number={index + 1} totalMs={totalMs} />
        ))}
        <li>
          <div class="requests-step">
            <span>{isZero(arithmetic.total) ? texts.notCharged : texts.settled(money(arithmetic.total))}</span>
            <span class="faint">
              {texts.end} · {duration(timings.duration_ms)}
            </span>
          </div>
          <Track>
            <span class="requests-point" style={{ insetInlineStart: '100%' }} />
          </Track>
        </li>
      </ol>
    </Part>
  )
}

const Track = ({ children }: { readonly children: preact.ComponentChildren }) => (
  <div class="requests-track" aria-hidden="true">
    {children}
  </div>
)

function Attempt({
  span,
  number,
  totalMs,
}: {
  readonly span: Span
  readonly number: number
  readonly totalMs: number
}) {
  const texts = t().requests
  const { attempt, startMs } = span
  const percent = (ms: number) => `${Math.min((ms / totalMs) * 100, 100)}%`
  const firstMs = attempt.first_byte_ms
  return (
    <li>
      <div class="requests-step">
        <span>
          {texts.attempt(number)}
          {attempt.channel && ` · ${attempt.channel}`} · {texts.protocols[attempt.protocol]}
        </span>
        <RequestStatus status={attempt.status} />
      </div>
      <Track>
        <span
          class={attempt.status === 'ok' ? 'requests-bar' : 'requests-bar failed'}
          style={{ insetInlineStart: percent(startMs), inlineSize: percent(attempt.duration_ms) }}
        >
          {firstMs !== null && attempt.duration_ms > 0 && (
            <span
              class="requests-wait"
              style={{ inlineSize: `${Math.min((firstMs / attempt.duration_ms) * 100, 100)}%` }}
            />
          )}
        </span>
      </Track>
      <p class="small faint">
        {firstMs !== null && `${texts.firstByteAfter(duration(firstMs))} · `}
        {texts.attemptTook(duration(attempt.duration_ms))}
      </p>
    </li>
  )
}
