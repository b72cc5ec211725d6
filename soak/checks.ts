/** What must be true at the end, counted as test runners count. */
export class Checks {
  private passed = 0
  private failed = 0

  check(what: string, isSo: boolean, seen: string): void {
    if (isSo) this.passed++
    else this.failed++
    console.log(`(${isSo ? 'pass' : 'fail'}) ${what}: ${seen}`)
  }

  /** Prints the count, and returns whether all is well. */
  sum(): boolean {
    console.log(`\n ${this.passed} pass\n ${this.failed} fail`)
    return this.failed === 0
  }
}
