import { plural } from '../../app/plural.ts'

const count = (n: number, one: string, other: string) => `${n} ${plural('en', n, { one, other })}`

const someOf = (ids: readonly string[]) =>
  ids.length > 3 ? `${ids.slice(0, 3).join(', ')} and ${ids.length - 3} more` : ids.join(', ')

export const channels = {
  intro: 'The upstreams that answer. For each model, the lowest priority number goes first.',
  ofOneReplica: 'State and latency are what the replica that answered has seen: each has its own.',
  add: 'Add channel',
  channel: 'Channel',
  search: 'Name or address',
  allStates: 'All states',
  model: 'Model',
  allModels: 'All models',
  protocol: 'Protocol',
  protocols: { chat: 'Chat Completions', messages: 'Messages' },
  shortProtocols: { chat: 'Chat', messages: 'Messages' },
  vendor: 'Vendor',
  baseUrl: 'Base URL',
  priority: 'Priority',
  weight: 'Weight',
  groups: 'Groups',
  order: 'Priority · weight',
  orderHint: 'Lower priorities are tried first; the weight is the share among equals.',
  latency: 'p50 / p95',
  firstByte: 'First byte p50 / p95',
  lastDay: 'Last 24 h',
  errorRateDay: 'Error rate, 24 h',
  failed: (share: string) => `${share} failed`,
  requests: 'requests',
  ofRequests: (errors: string, requests: string) => `${errors} of ${requests} requests`,
  measuredOn: (n: number) =>
    n === 0 ? 'Nothing measured since the start' : `Of the latest ${count(n, 'answer', 'answers')}`,
  connect: 'Wait to connect',
  firstByteWait: 'Wait for the first byte',
  idle: 'Wait between bytes',
  total: 'Wait for all of it',
  breaker: 'Left alone',
  breakerText: (failures: number, least: string, most: string) =>
    `after ${count(failures, 'failure', 'failures')} in a row, for ${least === most ? most : `${least} up to ${most}`}`,
  noBreaker: 'never, however often it fails',
  definition: 'Definition',
  pause: 'Pause',
  resume: 'Resume',
  isPaused: (name: string) => `${name} is paused`,
  isResumed: (name: string) => `${name} serves again`,
  actionsOf: (name: string) => `Actions for ${name}`,
  noMatch: 'No channel matches',
  noMatchText: 'Change or clear the filters.',
  empty: 'No channels yet',
  emptyText:
    'A channel is an upstream that answers: a vendor’s API or a server of your own. Add one to serve real models.',
  gone: (name: string) => `There is no channel ${name}`,

  states: { healthy: 'Healthy', degraded: 'Degraded', down: 'Down', paused: 'Paused', unused: 'Unused' },
  stateMeaning: {
    healthy: 'It answers.',
    degraded: 'A notable share of the latest requests failed.',
    down: 'The latest requests failed, or the vendor refused the key. It is left alone for a while, then tried again.',
    paused: 'It gets no requests until it is resumed.',
    unused: 'It has had no request since Duet was started.',
  },
  since: {
    down: 'first failure',
    degraded: 'last failure',
    healthy: 'last answer',
    unused: 'no request since the start',
    paused: 'gets no requests',
    resting: (until: string) => `left alone until ${until}`,
    waiting: 'tried by the next request',
    refused: (until: string) => `key refused, tried again at ${until}`,
    refusedWaiting: 'key refused, tried by the next request',
  },
  notes: {
    pausedTitle: 'Paused',
    pausedText: 'It gets no requests. Models that only paused channels serve are refused.',
    unusedTitle: 'Nothing has been sent through it since Duet was started',
    unusedText: 'Test it to see whether the address, the key and the names of the models are right.',
    downTitle: 'Down',
    downText: 'The latest requests failed, one after the other.',
    resting: (until: string) =>
      `It is left alone until ${until}, then tried again by one request. Until then others answer, if there are any.`,
    waiting: 'It was left alone for a while. The next request tries it again; if that is answered, it is back.',
    refused: (until: string) =>
      `The key was refused by the vendor: it is wrong or revoked, or the account there has no money. It is tried again at ${until}; a test that is answered brings it back at once.`,
    refusedWaiting:
      'The key was refused by the vendor: it is wrong or revoked, or the account there has no money. The next request tries it again.',
    keysOut: (out: number, all: number) =>
      `${out} of its ${all} keys ${plural('en', out, { one: 'is', other: 'are' })} left alone; see below.`,
    degradedTitle: 'Degraded',
    errorTitle: 'It answers; there was an error before',
    failedOf: (errors: number, requests: number) => `${errors} of the latest ${requests} requests failed.`,
    lastErrorAt: (time: string) => `Last error: ${time}.`,
    lastError: 'Last error, in full',
  },

  origins: {
    file: 'duet.yaml',
    environment: 'Environment',
    builtin: 'Built in',
    sandbox: 'Sandbox',
    console: 'Console',
  },
  originMeaning: {
    file: 'Defined in duet.yaml',
    environment: 'Made from a variable of the environment',
    builtin: 'Comes with Duet',
    sandbox: 'The built-in sandbox, which answers without any vendor',
    console: 'Defined here, in the console',
  },
  readOnly: {
    file: {
      title: 'Defined in duet.yaml',
      text: 'What the file says goes before the console, so that a deployment stays reproducible. Change it there, then read the file again.',
    },
    environment: {
      title: 'Made from a variable of the environment',
      text: 'Duet found a vendor’s key in its environment. Change the variable and start Duet again, or add a channel here.',
    },
    sandbox: {
      title: 'The built-in sandbox',
      text: 'It makes up answers so that everything can be tried without a vendor. It makes way for the first real channel.',
    },
  },
  shadows: 'The console has a definition of the same name; it takes effect when this one is gone.',

  reload: {
    action: 'Read duet.yaml again',
    done: (models: number, channels: number) =>
      `Read again: ${count(models, 'model', 'models')}, ${count(channels, 'channel', 'channels')}`,
    faultsTitle: 'duet.yaml was not taken over',
    faultsText: 'It has faults, so everything stays as it was. Mend these, then read it again:',
  },

  sandbox: {
    title: 'The sandbox answers',
    text: 'No real upstream is configured, so answers are made up. Add a channel with a vendor’s key to serve real models.',
  },

  keys: {
    title: 'Vendor keys',
    text: 'Requests take turns among the keys that work.',
    hint: 'Key',
    errors: 'Failed',
    lastOk: 'Last answer',
    add: 'Add key',
    addTitle: (name: string) => `Add a key to ${name}`,
    secret: 'API key',
    writeOnly:
      'Stored encrypted. Once saved it cannot be read again, here or anywhere else; only its last characters are shown.',
    missing: 'Paste the key that the vendor gave you.',
    added: 'Key added',
    remove: 'Remove key',
    removeTitle: (hint: string) => `Remove the key ${hint}?`,
    removeText: 'The other keys go on. To use this one again it must be pasted again.',
    removeLastText: 'It is the only key: the vendor will refuse requests until another one is added.',
    removed: 'Key removed',
    empty: 'No keys',
    emptyOwn:
      'Requests go out without a credential. Most vendors refuse that; servers on your own machine often do not mind.',
    emptyOther: 'Requests go out without a credential.',
  },

  models: {
    text: 'Under the names that callers use, and those that the upstream knows.',
    id: 'Catalog id',
    upstream: 'Name upstream',
    capabilities: 'Capabilities',
    show: (n: number) => `Show ${n}`,
    yes: 'yes',
    no: 'no',
    empty: 'It serves no model',
    emptyText: 'The catalog has none of the models that it was given.',
  },

  test: {
    action: 'Test',
    again: 'Test again',
    title: (name: string) => `Test ${name}`,
    text: 'Two tiny calls, one in each protocol that callers speak. They really reach the upstream, but no account is billed and they count neither as usage nor for health.',
    running: 'Waiting for the upstream',
    asked: (protocol: string) => `Asked in ${protocol}`,
    passedOn: 'The upstream speaks the same protocol: passed on.',
    translated: (protocol: string) => `Translated to ${protocol} for the upstream.`,
    answered: 'Answered',
    failed: 'Failed',
    emptyAnswer: '(an empty answer)',
    request: 'What the upstream was sent',
    passedSince: 'test answered',
    failedSince: 'test failed',
    passedTitle: 'The test was answered in both protocols',
    failedTitle: 'The test failed',
    outcome: (model: string, time: string) => `Asked for ${model}, ${time}.`,
  },

  pausing: {
    title: (name: string) => `Pause ${name}?`,
    text: (ids: readonly string[]) =>
      `${count(ids.length, 'model loses its', 'models lose their')} last channel: ${someOf(ids)}. Requests for ${ids.length === 1 ? 'it' : 'them'} will be refused until it is resumed.`,
    action: 'Pause channel',
  },

  takeover: {
    title: 'The sandbox stops answering',
    text: (n: number) =>
      `With this channel, only the models it serves can be called; ${count(n, 'other', 'others')} will have nobody.`,
    textForNone: 'With this channel, calls go to a real upstream. It serves every model of the catalog.',
    doneTitle: 'The sandbox has stopped answering',
    done: (n: number) =>
      `${count(n, 'model of the catalog has', 'models of the catalog have')} no channel now: requests for ${n === 1 ? 'it' : 'them'} are refused until a channel serves ${n === 1 ? 'it' : 'them'}.`,
    see: 'See which',
  },

  remove: {
    title: (name: string) => `Delete ${name}?`,
    text: 'The channel and its keys are gone at once; the keys cannot be recovered. Its requests stay in the log.',
    lastText: 'It is the last channel: the sandbox will answer from then on.',
    aloneText: (ids: readonly string[]) =>
      `Nobody else serves ${someOf(ids)}: requests for ${ids.length === 1 ? 'it' : 'them'} will be refused.`,
    action: 'Delete channel',
    done: (name: string) => `${name} is deleted`,
  },

  form: {
    intro:
      'Choose a vendor, and its protocol and address are known; or describe any server that speaks one of the two protocols.',
    editTitle: (name: string) => `Edit ${name}`,
    editIntro: 'Changes take effect with the next request. Keys are managed on the channel’s page.',
    upstream: 'Upstream',
    custom: 'Custom',
    protocolHint: 'What the upstream speaks. Callers can use both; Duet translates.',
    speaks: (vendor: string, protocol: string) => `${vendor} speaks ${protocol}.`,
    baseUrlHint: 'With its version, without the last part: /chat/completions or /messages is appended.',
    baseUrlKnown: 'Leave it empty for the vendor’s own address.',
    nameHint: 'Up to 64 letters, digits, dots, dashes or underscores. It cannot be changed later.',
    missingName: 'Give it a name.',
    badName: 'Only up to 64 letters, digits, dots, dashes or underscores, and no dot or dash at the beginning.',
    missingAddress: 'Write the address of the upstream, or choose a vendor.',
    badAddress: 'Write an http or https address, such as https://api.example.com/v1.',
    noModels: 'Choose at least one model.',
    badDuration: 'Write a duration such as 500ms, 5s or 2m.',
    badFailures: 'Write a whole number above zero.',
    reservedName: 'This name is taken by the console itself.',
    keylessHint: 'This server usually needs no key: leave it empty.',
    keyNumber: (n: number) => `API key ${n}`,
    anotherKey: 'Another key',
    allOf: (n: number) => `All it serves (${n})`,
    allThere: (n: number) => `All of the catalog (${n})`,
    allThereHint:
      'Every model that the catalog has now, each under its own id; “Choose” shows them with their names upstream. Models that are added later are not among them.',
    choose: 'Choose',
    allOfHint: 'Those of the catalog that the vendor is known for, under its names:',
    more: (n: number) => ` and ${n} more`,
    advanced: 'Advanced',
    advancedText: 'Priority, weight, groups, timeouts, failures, capabilities',
    priorityHint: 'Lower goes first.',
    weightHint: 'Share among channels of one priority.',
    groupsHint: 'Accounts of these groups may use it; separated by commas.',
    durationHint: 'Such as 500ms, 5s or 2m.',
    breaker: 'Leave it alone for a while when it keeps failing',
    breakerHint: 'Requests go to other channels meanwhile. Without this, every request tries it.',
    failures: 'Failures in a row',
    coolDown: 'Left alone for',
    coolDownHint: 'Doubled with every try that fails.',
    coolDownMax: 'At most for',
    capabilitiesHint:
      'Only where this upstream differs from its protocol or vendor: one “name: value” a line, or JSON.',
    unreadable: 'Write one “name: value” a line, or a JSON object.',
    added: (name: string) => `${name} is added`,
  },

  picker: {
    title: (n: number) => (n === 0 ? 'Choose the models it serves' : count(n, 'model chosen', 'models chosen')),
    search: 'Find a model',
    nothing: 'The catalog has no such model.',
    more: (n: number) => `${n} more: type to find them.`,
    hint: 'Beside each model: the name that the upstream knows; leave it empty where it is the same. Is a model missing?',
    addModel: 'Add it to the catalog first',
    upstreamName: (id: string) => `Name of ${id} upstream`,
  },
}
