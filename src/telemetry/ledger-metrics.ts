import { type Exposed, type Family, gauge } from './prometheus.ts'

interface LedgerState {
  readonly holdsOpen: number
  readonly isAvailable: boolean
  readonly settlementsWaiting: number
}

/** How the ledger is, for whoever is to be woken up. */
export class LedgerMetrics implements Exposed {
  private readonly gauges: readonly Exposed[]

  constructor(ledger: LedgerState) {
    this.gauges = [
      gauge({ name: 'duet_holds_open', help: 'Calls that money is held for.' }, () => ledger.holdsOpen),
      gauge(
        { name: 'duet_ledger_available', help: '0 while the store is away, and nothing can be billed.', merge: 'min' },
        () => (ledger.isAvailable ? 1 : 0),
      ),
      gauge(
        { name: 'duet_settlements_waiting', help: 'Settlements that could not be written yet.' },
        () => ledger.settlementsWaiting,
      ),
    ]
  }

  families(): readonly Family[] {
    return this.gauges.flatMap(part => part.families())
  }
}
