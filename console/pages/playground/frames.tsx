import { useSignal } from '@preact/signals'
import { number } from '../../app/format.ts'
import { t } from '../../app/language.ts'
import { Button } from '../../kit/index.ts'
import type { Run } from './run.ts'

/** An answer may have thousands; a table of all of them would make the page slow. */
const SHOWN_AT_ONCE = 200

/** Each piece as it came, with the time since the call and since the piece before it. */
export function Frames({ run }: { readonly run: Run }) {
  const texts = t().playground
  const shownMax = useSignal(SHOWN_AT_ONCE)
  const { frameCount } = run.view.value
  if (frameCount === 0) return <p class="faint">{texts.noFrames}</p>
  const shown = run.frames.slice(0, Math.min(frameCount, shownMax.value))
  const rest = frameCount - shown.length
  const hasEvents = run.lane.protocol === 'messages' && run.body.stream === true
  return (
    <div class="stack tight">
      <p class="faint small">{texts.framesText(frameCount, run.body.stream === true)}</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable without a pointer. */}
      <div class="playground-frames" tabIndex={0} role="region" aria-label={`${texts.tabs.frames}, ${run.id}`}>
        <table>
          <thead>
            <tr>
              <th scope="col">{texts.frameTime}</th>
              <th scope="col">{texts.frameDelta}</th>
              {hasEvents && <th scope="col">{texts.frameEvent}</th>}
              <th scope="col">{texts.frameData}</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((frame, at) => (
              <tr key={at}>
                <td class="numeric">{milliseconds(frame.atMs)}</td>
                <td class="numeric faint">+{milliseconds(frame.atMs - (shown[at - 1]?.atMs ?? 0))}</td>
                {hasEvents && <td>{frame.event}</td>}
                <td>{frame.data}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rest > 0 && (
        <div>
          <Button size="small" onClick={() => (shownMax.value += SHOWN_AT_ONCE)}>
            {texts.moreFrames(Math.min(rest, SHOWN_AT_ONCE))}
          </Button>
        </div>
      )}
    </div>
  )
}

const milliseconds = (ms: number) => `${number(Math.round(ms))} ms`
