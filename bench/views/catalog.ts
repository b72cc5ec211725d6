import { CHANNELS, type Past } from './past.ts'

/** Models and channels of the past, none of which anybody asks here. */
export function catalogOf({ models }: Past): string {
  const numbers = Array.from({ length: models }, (_, number) => number)
  const channels = Array.from({ length: CHANNELS }, (_, number) => number)
  return [
    'models:',
    ...numbers.map(number => `  - { id: acme/model-${number}, price: { input: 1, output: 4 } }`),
    'channels:',
    ...channels.map(channel => {
      const served = numbers.filter(number => number % CHANNELS === channel)
      const names = served.map(number => `acme/model-${number}: model-${number}`).join(', ')
      const where = 'protocol: chat, base_url: "http://127.0.0.1:9/v1", api_key: vendor-key-0123456789'
      return `  - { name: channel-${channel}, ${where}, models: { ${names} } }`
    }),
    '',
  ].join('\n')
}
