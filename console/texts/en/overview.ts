import { plural } from '../../app/plural.ts'

const requests = (n: number) => plural('en', n, { one: 'request', other: 'requests' })

export const overview = {
  range: 'Range of the charts',
  ranges: { '1': '24 hours', '7': '7 days', '30': '30 days' },
  inRange: { '1': 'in the last 24 hours', '7': 'in the last 7 days', '30': 'in the last 30 days' },

  money: 'Money',
  balance: 'Balance',
  balanceOfAll: 'Balance of all accounts',
  heldToo: (amount: string) => `${amount} of it is held for calls under way.`,
  paceTitle: 'At the pace of the last seven days',
  noPace: 'Nothing spent in the last 7 days',
  lastsADay: 'Lasts less than a day at this rate',
  lastsDays: (n: number, text: string) =>
    `Lasts about ${text} ${plural('en', n, { one: 'day', other: 'days' })} at this rate`,
  lastsLong: 'Lasts more than a year at this rate',
  spentToday: 'Spent today',
  spent7: 'Spent in 7 days',
  spent30: 'Spent in 30 days',
  utc: 'Days begin at midnight UTC.',
  noRequests: 'No requests',
  requests: (n: number, text: string) => `${text} ${requests(n)}`,
  errors: (n: number, text: string, share: string) =>
    `${text} ${plural('en', n, { one: 'error', other: 'errors' })} (${share})`,

  usage: 'Where it goes',
  measure: 'What the charts count',
  spend: 'Spend',
  count: 'Requests',
  byHour: 'By the hour.',
  byDay: 'By the day, in UTC.',
  spendByModel: 'Spend by model',
  spendByKey: 'Spend by key',
  requestsByModel: 'Requests by model',
  requestsByKey: 'Requests by key',
  other: 'All others',
  nothingInRange: (range: string) => `Nothing ${range}.`,
  summary: (total: string, range: string, first: string, part: string) =>
    `${total} in all ${range}; most of it for ${first}: ${part}.`,

  speed: 'Speed',
  measuredOn: (n: number, text: string, range: string) =>
    n === 1
      ? `Measured on the one request that was answered ${range}.`
      : `Measured on the latest ${text} requests that were answered ${range}.`,
  notMeasured: (range: string) => `No request was answered ${range}: there is nothing to measure.`,
  latency50: 'Latency, p50',
  latency95: 'Latency, p95',
  first50: 'Time to first token, p50',
  first95: 'Time to first token, p95',
  half: 'Half of them are faster',
  most: '19 of 20 are faster',

  alerts: 'What is unusual',
  alertsMore: (n: number) => `Show ${n} more`,
  alertsFewer: 'Show fewer',
  lowTitle: (name: string) => `The balance of ${name} is low`,
  lowText: (balance: string) => `${balance} is left. When it is used up, all requests of the account are refused.`,
  lowDays: (balance: string, lasts: string) =>
    `${balance} is left. ${lasts}; then all requests of the account are refused.`,
  nearCapTitle: (name: string) => `The key ${name} is near its cap`,
  nearCapText: (spent: string, cap: string) =>
    `${spent} of ${cap} is spent. At the cap its requests are refused, whatever is left on the account.`,
  downTitle: (name: string) => `The channel ${name} does not answer`,
  downText: (since: string) => `Since ${since}. Requests go to other channels, or fail where there is none.`,
  openChannel: 'Open channel',
  priceTitle: (model: string) => `${model} has no price`,
  priceText: 'Requests to it are refused until it has one.',
  setPrice: 'Set a price',

  steps: 'First steps',
  stepsDone: (done: number, all: number) => `${done} of ${all} done`,
  stepsDismiss: 'Dismiss the first steps',
  stepDone: 'Done',
  stepOpen: 'To do',
  channelStep: 'Connect an upstream',
  channelStepText: 'Until then the built-in sandbox answers.',
  keyStep: 'Create a key',
  keyStepText: 'One for each person or program, so that you see who spends what.',
  requestStep: 'Send a request',
  requestStepText: 'From the playground or with your own client. It appears here at once.',
  capStep: 'Give a key a cap',
  capStepText: 'The most that one key may spend, whatever is on the account.',

  recent: 'Latest requests',
  recentText: 'New ones appear by themselves.',
  allRequests: 'All requests',
  noRecent: 'No requests yet',
  noRecentText: 'Send one from the playground, or with a key and any client that speaks one of the two protocols.',
  openPlayground: 'Open the playground',
  time: 'Time',
  model: 'Model',
  key: 'Key',
  tokens: 'Tokens',
  tokensTitle: (input: string, output: string) => `${input} in, ${output} out`,
  cost: 'Cost',
  duration: 'Duration',
  ok: 'OK',
  refusedBalance: 'Balance used up',
  refusedCap: 'Cap reached',
}
