import { type Nanos, nanos, ZERO } from '../core/money.ts'
import type { Exposed, Family } from './prometheus.ts'

const NANOS_PER_DOLLAR = 1e9

/** What upstreams counted beyond the ceilings of callers: callers do not pay it, so somebody should know how much it is. */
export class Excess implements Exposed {
  private sum: Nanos = ZERO

  add(amount: Nanos): void {
    this.sum = nanos(this.sum + amount)
  }

  families(): readonly Family[] {
    return [
      {
        name: 'duet_ceiling_excess_dollars_total',
        help: 'What upstreams counted beyond x-duet-max-cost, at the prices of the catalog; nobody is charged for it.',
        type: 'counter',
        samples: [{ value: Number(this.sum) / NANOS_PER_DOLLAR }],
      },
    ]
  }
}
