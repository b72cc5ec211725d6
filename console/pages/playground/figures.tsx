import type { ComponentChildren } from 'preact'
import { duration, number } from '../../app/format.ts'
import { t } from '../../app/language.ts'
import { href, pathTo } from '../../app/router.ts'
import { Money } from '../../kit/index.ts'
import type { RunView } from './run.ts'

/** Tokens, money and time of one call; a row that keeps its place while the numbers come. */
export function Figures({ view }: { readonly view: RunView }) {
  const texts = t().playground
  const { tokens, cost, firstMs, totalMs, requestId, channel, dropped } = view
  const isOver = view.state === 'stopped' || view.state === 'failed'
  const unknown = isOver && requestId !== null ? texts.notSettled : '–'
  const figures: readonly (readonly [string, ComponentChildren] | false)[] = [
    [texts.tokens.input, tokens ? number(tokens.input) : '–'],
    !!tokens && tokens.cache_read > 0 && [texts.tokens.cache_read, number(tokens.cache_read)],
    !!tokens && tokens.cache_write > 0 && [texts.tokens.cache_write, number(tokens.cache_write)],
    [texts.tokens.output, tokens ? number(tokens.output) : '–'],
    !!tokens && tokens.reasoning > 0 && [texts.tokens.reasoning, number(tokens.reasoning)],
    [texts.cost, cost === null ? unknown : <Money amount={cost} />],
    [texts.firstToken, firstMs === null ? '–' : duration(firstMs)],
    [texts.total, totalMs === null ? '–' : duration(totalMs)],
    channel !== null && [texts.channel, channel],
    dropped.length > 0 && [
      texts.dropped,
      <span key="dropped" class="playground-dropped" title={texts.droppedTitle}>
        {dropped.join(', ')}
      </span>,
    ],
    requestId !== null && [
      texts.request,
      <a key="request" class="mono" href={href(pathTo('requests', requestId))}>
        {requestId}
      </a>,
    ],
  ]
  return (
    <dl class="playground-figures">
      {figures.map(
        figure =>
          figure && (
            <div key={figure[0]}>
              <dt>{figure[0]}</dt>
              <dd>{figure[1]}</dd>
            </div>
          ),
      )}
    </dl>
  )
}
