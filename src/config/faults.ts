/** Everything that is wrong with a configuration, at once: nobody wants to start five times to find five faults. */
export class ConfigError extends Error {
  readonly faults: readonly string[]

  constructor(faults: readonly string[]) {
    super(faults.join('\n'))
    this.name = 'ConfigError'
    this.faults = faults
  }
}

/** Why something could not be begun, for people: all faults of a configuration, or what else there is to say. */
export function explain(error: unknown): string {
  if (!(error instanceof ConfigError)) return error instanceof Error ? error.message : String(error)
  const { faults } = error
  const list = faults.map(fault => `\n  - ${fault}`).join('')
  return `the configuration has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:${list}`
}
