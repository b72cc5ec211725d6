import { DEFAULT_TIMEOUTS, servedModels } from '../config/presets.ts'
import type { Channel, Model } from '../core/catalog.ts'

/** The built-in upstream, started the first time that no real channel is configured. */
export class SandboxChannels {
  private running: { readonly url: string; stop(): Promise<void> } | undefined
  private reasoning = new Set<string>()

  /** Every other model speaks the other dialect upstream, so that all four pairs are in use from the start. */
  async channels(models: readonly Model[]): Promise<Channel[]> {
    this.reasoning = new Set(models.filter(({ reasoning }) => reasoning).map(({ id }) => id))
    this.running ??= await this.start()
    const { url } = this.running
    const everyOther = (from: number) => models.filter((_, place) => place % 2 === from)
    return [sandboxChannel('chat', url, everyOther(0)), sandboxChannel('messages', url, everyOther(1))]
  }

  async stop(): Promise<void> {
    await this.running?.stop()
  }

  private async start() {
    const { startSandbox } = await import('../sandbox/sandbox.ts')
    return startSandbox({ reasons: model => this.reasoning.has(model) })
  }
}

/** A row like any other: nothing in the gateway knows that this upstream is ours. */
const sandboxChannel = (protocol: Channel['protocol'], baseUrl: string, models: readonly Model[]): Channel => ({
  name: `sandbox-${protocol}`,
  protocol,
  baseUrl,
  ...{ origin: 'sandbox', vendor: undefined, hidesConsole: false, isPaused: false, keys: [], usableKeys: [] },
  models: servedModels(new Map(models.map(({ id }) => [id, id])), { protocol }),
  priority: 0,
  weight: 1,
  groups: ['default'],
  timeouts: DEFAULT_TIMEOUTS,
  // What fails there was asked to fail by a caller, and concerns nobody else.
  breaker: undefined,
  withheld: [],
  replyHeaders: { 'x-duet-sandbox': 'true' },
})
