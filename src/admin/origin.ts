import { AdminError } from './failure.ts'
import type { AdminCall } from './route.ts'

/** A cookie comes with every request of a browser, whichever page made it; what changes something must be the console's. */
export function refuseOtherSites({ isFromConsole }: AdminCall): void {
  if (!isFromConsole) {
    throw new AdminError(403, 'cross_site', 'only the console itself may ask for this; scripts send the admin token')
  }
}
