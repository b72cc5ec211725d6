import type { ComponentChildren } from 'preact'
import { t } from '../../app/language.ts'
import { Icon } from '../../kit/index.ts'

interface GateProps {
  readonly title: string
  readonly question: string
  readonly now: ComponentChildren
  readonly about: string
  readonly code: string
  readonly helps: string
  readonly helpsNot: string
}

export function Gate({ title, question, now, about, code, helps, helpsNot }: GateProps) {
  const texts = t().billing.limits
  return (
    <li class="billing-gate">
      <div class="billing-gate-top">
        <h3>{title}</h3>
        <span class="small">{now}</span>
      </div>
      <p class="strong">{question}</p>
      <p class="billing-gate-about">{about}</p>
      <div class="billing-refusal">
        <span>{texts.ifNot}</span>
        <code>403 {code}</code>
      </div>
      <ul class="small">
        <li>
          <Icon name="check" size={14} />
          <span>
            {texts.helps} <strong>{helps}</strong>
          </span>
        </li>
        <li class="is-useless">
          <Icon name="close" size={14} />
          <span>
            {texts.helpsNot} {helpsNot}
          </span>
        </li>
      </ul>
    </li>
  )
}
