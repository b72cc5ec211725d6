import type { AttemptView, UsageReceiptView } from '../../../src/admin/contract.ts'
import { isZero } from '../../app/decimal.ts'
import { duration, money } from '../../app/format.ts'
import { t } from '../../app/language.ts'
import { Part } from '../../kit/index.ts'
import { RequestStatus } from './status.tsx'

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
        {attempts.map((attempt, index) => (
          <Attempt key={index} attempt={attempt} number={index + 1} totalMs={totalMs} />
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

interface AttemptProps {
  readonly attempt: AttemptView
  readonly number: number
  readonly totalMs: number
}

function Attempt({ attempt, number, totalMs }: AttemptProps) {
  const texts = t().requests
  const percent = (ms: number) => `${(Math.max(0, Math.min(ms, totalMs)) / totalMs) * 100}%`
  // Clocks count whole milliseconds: the last attempt may seem to end after the request.
  const shownMs = Math.min(attempt.duration_ms, totalMs - attempt.start_ms)
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
          style={{ insetInlineStart: percent(attempt.start_ms), inlineSize: percent(shownMs) }}
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
        {attempt.key && (
          <>
            {' · '}
            {texts.vendorKey} <code>{attempt.key}</code>
          </>
        )}
      </p>
      {attempt.error && <p class="small requests-why">{attempt.error}</p>}
    </li>
  )
}
