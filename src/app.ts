import { MemoryCounts, sharedCounting } from './admin/attempt-counts.ts'
import { playgroundLimits, redemptionLimits } from './admin/attempts.ts'
import { channelAlerts } from './admin/channel-alerts.ts'
import { SignInLimits } from './admin/sign-in-limits.ts'
import { CHORES_MS, choresOf } from './chores.ts'
import type { Config } from './config/config.ts'
import type { Channel, Model } from './core/catalog.ts'
import { isStoreAway } from './core/failure.ts'
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
import { Ledger } from './ledger/ledger.ts'
import { Redemptions } from './ledger/redemptions.ts'
import { logOutage, logRefusedReload, logStop } from './life-log.ts'
import { LiveCatalog } from './live-catalog.ts'
import { CLAIM_MS, Notifier } from './notices/notifier.ts'
import { openStore } from './open-store.ts'
import { Breakers } from './routing/breakers.ts'
import type { Catalog } from './routing/catalog.ts'
import { reportOf } from './routing/channel-report.ts'
import type { Route } from './routing/choose.ts'
import { Health } from './routing/health.ts'
import { findAdminToken } from './setup/admin-token.ts'
import { firstStart } from './setup/first-start.ts'
import { refuseMoved } from './setup/moved.ts'
import { SandboxChannels } from './setup/sandbox-channels.ts'
import { findSecret } from './setup/secret-file.ts'
import { Excess } from './telemetry/excess.ts'
import { LedgerMetrics } from './telemetry/ledger-metrics.ts'
import { createLog } from './telemetry/log.ts'
import { Metrics } from './telemetry/metrics.ts'
import { type Family, gauge } from './telemetry/prometheus.ts'
import { UpstreamMetrics } from './telemetry/upstream-metrics.ts'
import { Tending } from './tending.ts'
import { logBreaker, logExcess, logRetry } from './upstream-log.ts'
import { VERSION } from './version.ts'

/** What a start tells people. */
export interface Announcement {
  readonly url: string
  /** One of those that can be called. */
  readonly sampleModel: string
  readonly notes: readonly string[]
  /** Set on the first start only: the one time the first key is shown. */
  readonly firstKey: string | undefined
  /** Set once: on the first start of a Duet that nobody can sign in to. */
  readonly signInLink: string | undefined
  readonly consoleUrl: string
  readonly adminTokenPath: string | undefined
  readonly isSandbox: boolean
}

/** A running Duet. */
export interface App extends Announcement {
  /** What it would show to Prometheus, were it alone. */
  metrics(): readonly Family[]
  /** Reads models and channels again; a faulty file is refused whole, in the log, and the last good one stays. */
  reload(): Promise<void>
  /** Lets what is under way finish, but not for long, nor once `hurry` is aborted. False if something could not be written. */
  stop(hurry: AbortSignal): Promise<boolean>
}

export interface AppOptions {
  readonly limits?: EdgeLimits
  /** Set where other processes of this machine share the port. */
  readonly crew?: Crew
}

/** Those who share a port: whoever is asked for figures answers for all of them. */
export interface Crew {
  gather(own: readonly Family[]): Promise<readonly Family[]>
}

/** The only place that wires parts together. */
export async function startApp(
  config: Config,
  write: (text: string) => void,
  { limits = EDGE_LIMITS, crew }: AppOptions = {},
): Promise<App> {
  const clock = Date.now
  const loaded = await config.catalog.load()
  const log = createLog(write, clock)
  const tellWaiting = (seconds: number) => log.info('waiting for the database', { up_to_seconds: seconds })
  if (config.databaseUrl === undefined) refuseMoved(config.dataFolder)
  const store = await openStore(config, tellWaiting)
  const { directory, people, codes, notices, records, standing, captures, audit } = store
  const owner = newHex(8)
  const replicas = store.replicas?.(owner)
  const ledger = new Ledger(store.ledger, { owner, clock, watcher: logOutage(log) })
  const { recovered } = await ledger.tend()
  if (recovered > 0) log.info('released holds of an interrupted run', { holds: recovered })
  const redemptions = new Redemptions(codes, ledger)

  const token = findAdminToken(config)
  const given = { given: config.secret, folder: config.dataFolder }
  const sealer = createSealer(findSecret({ ...given, name: 'secret', generate: newSecret }).secret)
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
  const live = await LiveCatalog.open(
    { source: config.catalog, store, sealer, sandbox, upstreams, log, clock, replicas },
    loaded,
  )
  const catalog = () => live.current
  await replicas?.follow(
    async topic => (topic === 'keys' ? directory.forgetCallers() : live.refresh()),
    error => log.error('changes of other replicas are not seen at once', { error }),
  )

  const flights = new Flights()
  const door = new Door(config.maxInFlight)
  const tellLost = (message: string) => (error: unknown) => {
    if (!isStoreAway(error)) log.error(message, { error })
  }
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
  const notifier = new Notifier({
    ...{ notices, sealer, clock, consoleUrl: () => `${publicUrl()}/console/billing` },
    claimMs: replicas && CLAIM_MS,
  })
  const refusals = new Refusals({ ledger, clock, report: tellLost('a refused request was not recorded') })
  const keeper = new Keeper({ captures, sealer, consoleUrl: hintUrl, report: tellLost('a request was not stored') })
  const repeats = new Repeats({
    ...{ answers: store.answers, claims: replicas?.claims, sealer, refusals, clock },
    report: tellLost('a name was not given back'),
  })
  const keyLimits = new KeyLimits(() => performance.now(), replicas?.uses)
  const counting = replicas ? sharedCounting(replicas.attempts, sealer) : () => new MemoryCounts(clock)
  const recollection = new Recollection({ clock })
  const metrics = new Metrics(VERSION, [counts, excess, new LedgerMetrics(ledger), inFlightGauge(door)])
  const place = { ...config, isShared: crew !== undefined }
  const listening = listen(place, {
    gateway: {
      ...{ keys: directory, ledger, refusals, keeper, repeats, recollection, clock, catalog },
      limits: keyLimits,
      ...{ flights, router, breakers, health, counts: attempts, onExcess },
    },
    admin: {
      ...{ directory, people, ledger, records, standing, captures, audit, sealer, clock, probe, publicUrl },
      ...{ signIns: new SignInLimits(counting), redeeming: redemptionLimits(counting) },
      ...{ playing: playgroundLimits(counting), log, codes, redemptions },
      ...{ notices, testNotice: (target, subject) => notifier.test(target, subject) },
      ...{ adminToken: token.secret, version: VERSION, isSandbox: () => catalog().isSandbox },
      isReplicated: replicas !== undefined,
      ...{ catalog, editor: live, health, breakers, prices: store.prices },
      channelAlerts: () => channelAlerts(catalog(), { health, breakers, since: health.since }),
      preview: request => previewRequest(request, catalog()),
    },
    ...{ door, limits, log },
    metrics,
    exposed: crew && (() => crew.gather(metrics.families())),
    isLedgerAvailable: () => ledger.isAvailable,
    consoleUrl: hintUrl,
  })

  // After the port is ours: a start that fails must not leave an account behind whose key nobody has seen.
  const { firstKey, signInLink } = await firstStart(config.bootstrapKey, {
    ...{ directory, ledger, records, people, sealer, replicas, clock, publicUrl },
  })

  const chores = choresOf({
    ...{ ledger, redemptions, directory, people, captures, repeats, recollection, notifier, replicas, log, clock },
    upkeep: store.upkeep,
  })
  const tending = new Tending(chores, log)
  await tending.begin(CHORES_MS)

  return {
    url: listening.url,
    sampleModel: sampleOf(live.current),
    notes: live.notes,
    firstKey,
    signInLink,
    consoleUrl: consoleUrl(),
    adminTokenPath: token.path,
    isSandbox: live.current.isSandbox,
    metrics: () => metrics.families(),
    async reload() {
      await live.reload().catch(error => logRefusedReload(error, log))
    },
    async stop(hurry) {
      const stopLog = logStop({ log, hurry, limitSeconds: config.drainSeconds, underWay: () => flights.count })
      const limitMs = config.drainSeconds * 1000
      const tooLate = AbortSignal.any([hurry, AbortSignal.timeout(limitMs)])
      await listening.drain({
        limitMs,
        hurry,
        isIdle: () => flights.count === 0,
        cut: () => {
          stopLog.cut()
          flights.cut()
          repeats.cut()
        },
      })
      tending.end()
      keyLimits.stop()
      await notifier.stop()
      const unwritten = await ledger.drain(tooLate)
      await keeper.drain()
      // Neither is worth waiting for a store that is away.
      if (ledger.isAvailable) {
        await directory.keepLastUsed().catch(tellLost('the last use of keys is lost'))
        await replicas?.leave().catch(tellLost('the other replicas were not told of the end'))
      }
      await sandbox.stop()
      await store.close().catch(error => log.error('the store could not be closed', { error }))
      // Their holds stay: the next start releases them as interrupted.
      if (unwritten > 0) log.error('settlements could not be written', { settlements: unwritten })
      stopLog.end()
      log.flush()
      return unwritten === 0
    },
  }
}

const inFlightGauge = (door: Door) =>
  gauge({ name: 'duet_inflight_requests', help: 'Turns of callers that are under way.' }, () => door.inside)

function sampleOf(catalog: Catalog): string {
  const models = catalog.listed('default')
  return (models.find(({ recommended }) => recommended) ?? models[0])?.id ?? 'vendor/model'
}

const isLoopback = (host: string): boolean => /^(127\.|localhost$|::1$|\[::1\]$)/.test(host)

/** Nobody can visit "every address of this machine". */
const reachable = (url: string): string => url.replace(/\/\/(0\.0\.0\.0|\[::\])/, '//localhost')
