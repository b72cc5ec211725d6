import { playgroundLimits, redemptionLimits } from './admin/attempts.ts'
import { channelAlerts } from './admin/channel-alerts.ts'
import { SignInLimits } from './admin/sign-in-limits.ts'
import { choresOf } from './chores.ts'
import type { Config } from './config/config.ts'
import type { Channel, Model } from './core/catalog.ts'
import { newHex, newSecret } from './core/ids.ts'
import type { Nanos } from './core/money.ts'
import { createSealer } from './core/seal.ts'
import { Flights } from './gateway/flights.ts'
import { Keeper } from './gateway/keeper.ts'
import { KeyLimits } from './gateway/key-limits.ts'
import { previewRequest } from './gateway/preview.ts'
import { probeChannel } from './gateway/probe.ts'
import { Recollection } from './gateway/recollection.ts'
import { Refusals } from './gateway/refusals.ts'
import { Repeats } from './gateway/repeats.ts'
import { Router } from './gateway/router.ts'
import type { AttemptCounts } from './gateway/tries.ts'
import { Door } from './http/door.ts'
import { EDGE_LIMITS, type EdgeLimits } from './http/limits.ts'
import { listen } from './http/server.ts'
import { Ledger, TEND_MS } from './ledger/ledger.ts'
import { Redemptions } from './ledger/redemptions.ts'
import { logRefusedReload, logStop } from './life-log.ts'
import { LiveCatalog } from './live-catalog.ts'
import { Notifier } from './notices/notifier.ts'
import { openStore } from './open-store.ts'
import { Breakers } from './routing/breakers.ts'
import type { Catalog } from './routing/catalog.ts'
import { reportOf } from './routing/channel-report.ts'
import type { Route } from './routing/choose.ts'
import { Health } from './routing/health.ts'
import { createFirstAccount } from './setup/first-account.ts'
import { createFirstInvite } from './setup/first-invite.ts'
import { SandboxChannels } from './setup/sandbox-channels.ts'
import { findSecret } from './setup/secret-file.ts'
import { Excess } from './telemetry/excess.ts'
import { createLog } from './telemetry/log.ts'
import { Metrics } from './telemetry/metrics.ts'
import { gauge } from './telemetry/prometheus.ts'
import { UpstreamMetrics } from './telemetry/upstream-metrics.ts'
import { Tending } from './tending.ts'
import { logBreaker, logExcess, logRetry } from './upstream-log.ts'
import { VERSION } from './version.ts'

/** A running Duet. */
export interface App {
  readonly url: string
  readonly catalog: Catalog
  readonly notes: readonly string[]
  /** Set on the first start only: the one time the first key is shown. */
  readonly firstKey: string | undefined
  /** Set once: on the first start of a Duet that nobody can sign in to. */
  readonly signInLink: string | undefined
  readonly consoleUrl: string
  readonly adminTokenPath: string | undefined
  readonly isSandbox: boolean
  /** Reads models and channels again; a faulty file is refused whole, in the log, and the last good one stays. */
  reload(): Promise<void>
  /** Lets what is under way finish, but not for long, nor once `hurry` is aborted. False if something could not be written. */
  stop(hurry: AbortSignal): Promise<boolean>
}

/** The only place that wires parts together. */
export async function startApp(
  config: Config,
  write: (text: string) => void,
  limits: EdgeLimits = EDGE_LIMITS,
): Promise<App> {
  const clock = Date.now
  const loaded = await config.catalog.load()
  const store = openStore(config)
  const log = createLog(write, clock)
  const { directory, people, codes, notices, records, standing, captures, audit } = store
  const ledger = new Ledger(store.ledger, { owner: newHex(8), clock })
  const abandoned = await ledger.recover()
  if (abandoned > 0) log.info('released holds of an interrupted run', { holds: abandoned })
  const redemptions = new Redemptions(codes, ledger)

  const folder = config.dataFolder
  const generateToken = () => `duet-admin-${newSecret()}`
  const token = findSecret({ given: config.adminToken, folder, name: 'admin-token', generate: generateToken })
  const sealer = createSealer(findSecret({ given: config.secret, folder, name: 'secret', generate: newSecret }).secret)
  const sandbox = new SandboxChannels()
  const health = new Health(clock)
  const breakers = new Breakers({ clock: () => performance.now(), now: clock, tell: change => logBreaker(change, log) })
  const excess = new Excess()
  const onExcess = (requestId: string, amount: Nanos) => {
    excess.add(amount)
    logExcess(requestId, amount, log)
  }
  const counts = new UpstreamMetrics({
    channels: () => live.current.channels,
    ofChannel: channel => reportOf(channel, breakers),
    ofKey: (channel, keyId) => breakers.ofKey(channel, keyId),
  })
  const attempts: AttemptCounts = {
    attempt: outcome => counts.attempt(outcome),
    retry: failed => {
      counts.retry(failed.channel)
      logRetry(failed, log)
    },
  }
  const router = new Router(breakers, Math.random)
  const upstreams = [health, breakers, counts, router]
  const live = await LiveCatalog.open({ source: config.catalog, store, sealer, sandbox, upstreams, log, clock }, loaded)
  const catalog = () => live.current

  const flights = new Flights()
  const door = new Door(config.maxInFlight)
  const tellLost = (message: string) => (error: unknown) => log.error(message, { error })
  const isLeftAlone = (channel: string, keyId: string) => breakers.ofKey(channel, keyId).state !== 'closed'
  const answered = ({ channel, key }: Route) => {
    breakers.forget(channel.name, key?.id)
    health.forgive(channel.name, key?.id)
  }
  const probe = (channel: Channel, model: Model) => probeChannel(channel, model, { clock, answered, isLeftAlone })
  const publicUrl = () => config.publicUrl ?? reachable(listening.url)
  const consoleUrl = () => `${publicUrl()}/console`
  // An address that only this machine can use is no hint for callers from elsewhere.
  const isReachable = config.publicUrl !== undefined || isLoopback(config.host)
  const hintUrl = () => (isReachable ? consoleUrl() : undefined)
  const notifier = new Notifier({ notices, sealer, clock, consoleUrl: () => `${publicUrl()}/console/billing` })
  const refusals = new Refusals({ ledger, clock, report: tellLost('a refused request was not recorded') })
  const keeper = new Keeper({ captures, sealer, consoleUrl: hintUrl, report: tellLost('a request was not stored') })
  const repeats = new Repeats({ answers: store.answers, sealer, refusals, clock })
  const recollection = new Recollection({ clock })
  const listening = listen(config, {
    gateway: {
      ...{ keys: directory, ledger, refusals, keeper, repeats, recollection, clock, catalog },
      limits: new KeyLimits(() => performance.now()),
      ...{ flights, router, breakers, health, counts: attempts, onExcess },
    },
    admin: {
      ...{ directory, people, ledger, records, standing, captures, audit, sealer, clock, probe, publicUrl },
      ...{ signIns: new SignInLimits(clock), redeeming: redemptionLimits(clock), playing: playgroundLimits(clock) },
      ...{ log, codes, redemptions },
      ...{ notices, testNotice: (target, subject) => notifier.test(target, subject) },
      ...{ adminToken: token.secret, version: VERSION, isSandbox: () => catalog().isSandbox },
      ...{ catalog, editor: live, health, breakers, prices: store.prices },
      channelAlerts: () => channelAlerts(catalog(), { health, breakers, since: health.since }),
      preview: request => previewRequest(request, catalog()),
    },
    ...{ door, limits, log },
    metrics: new Metrics(VERSION, [counts, excess, holdsGauge(ledger), inFlightGauge(door)]),
    consoleUrl: hintUrl,
  })

  // After the port is ours: a start that fails must not leave an account behind whose key nobody has seen.
  const firstKey = await createFirstAccount(config.bootstrapKey, { directory, ledger, records, clock })
  const signInLink = await createFirstInvite({ directory, people, sealer, clock, publicUrl })

  const chores = choresOf({
    ...{ ledger, redemptions, directory, people, captures, repeats, recollection, notifier, log, clock },
  })
  const tending = new Tending(chores, log)
  await tending.begin(TEND_MS)

  return {
    url: listening.url,
    catalog: live.current,
    notes: live.notes,
    firstKey,
    signInLink,
    consoleUrl: consoleUrl(),
    adminTokenPath: token.path,
    isSandbox: live.current.isSandbox,
    async reload() {
      await live.reload().catch(error => logRefusedReload(error, log))
    },
    async stop(hurry) {
      const stopLog = logStop({ log, hurry, limitSeconds: config.drainSeconds, underWay: () => flights.count })
      await listening.drain({
        limitMs: config.drainSeconds * 1000,
        hurry,
        isIdle: () => flights.count === 0,
        cut: () => {
          stopLog.cut()
          flights.cut()
        },
      })
      tending.end()
      await notifier.stop()
      const unwritten = await ledger.drain()
      await keeper.drain()
      await directory.keepLastUsed().catch(error => log.error('the last use of keys is lost', { error }))
      await sandbox.stop()
      store.close()
      // Their holds stay: the next start releases them as interrupted.
      if (unwritten > 0) log.error('settlements could not be written', { settlements: unwritten })
      stopLog.end()
      log.flush()
      return unwritten === 0
    },
  }
}

const holdsGauge = (ledger: Ledger) =>
  gauge({ name: 'duet_holds_open', help: 'Calls that money is held for.' }, () => ledger.holdsOpen)

const inFlightGauge = (door: Door) =>
  gauge({ name: 'duet_inflight_requests', help: 'Turns of callers that are under way.' }, () => door.inside)

const isLoopback = (host: string): boolean => /^(127\.|localhost$|::1$|\[::1\]$)/.test(host)

/** Nobody can visit "every address of this machine". */
const reachable = (url: string): string => url.replace(/\/\/(0\.0\.0\.0|\[::\])/, '//localhost')
