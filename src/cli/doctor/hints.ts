import { samples } from '../samples.ts'
import { indent } from '../table.ts'
import type { KnownModel } from './models.ts'

/** How to call this gateway, for whoever comes here because a client does not work. */
export interface Hints {
  readonly base_url: string
  readonly samples: Readonly<Record<'chat' | 'messages', string>>
  /** What clients and coding agents read. */
  readonly environment: Readonly<Record<'chat' | 'messages', string>>
}

const KEY = '$DUET_KEY'

export function hintsFor(server: string, models: readonly KnownModel[]): Hints {
  const base = `${server}/v1`
  const callable = models.filter(({ isPriced, isServed }) => isPriced && isServed)
  const model = (callable.find(({ isRecommended }) => isRecommended) ?? callable[0])?.id ?? 'vendor/model'
  return {
    base_url: base,
    samples: samples({ base, model, key: KEY, quote: text => `"${text}"` }),
    environment: {
      chat: `OPENAI_BASE_URL=${base} OPENAI_API_KEY=${KEY}`,
      messages: `ANTHROPIC_BASE_URL=${server} ANTHROPIC_AUTH_TOKEN=${KEY}`,
    },
  }
}

export const hintsText = ({ base_url, samples, environment }: Hints): string =>
  [
    `Base URL: ${base_url}`,
    'Clients that add /v1 themselves work with it and without it. DUET_KEY is an API key: duet keys create --name me',
    '',
    'Try it:',
    indent(`${samples.chat}\n${samples.messages}`),
    '',
    'For clients and coding agents:',
    indent(`${environment.chat}\n${environment.messages}`),
  ].join('\n')
