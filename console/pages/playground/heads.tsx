import type { ModelView } from '../../../src/admin/contract.ts'
import { money } from '../../app/format.ts'
import { t } from '../../app/language.ts'
import { Segments } from '../../kit/index.ts'
import { chooseLane, chooseMode, modeOf } from './lanes.ts'
import { isUnserved } from './models.ts'
import type { Lane } from './request.ts'

interface LaneHeadsProps {
  readonly models: readonly ModelView[]
  readonly lanes: readonly Lane[]
}

/** Who is asked, and through which protocol. */
export function LaneHeads({ models, lanes }: LaneHeadsProps) {
  const texts = t().playground
  return (
    <div class="playground-heads">
      <Segments
        label={texts.through}
        value={modeOf(lanes)}
        options={[
          { value: 'chat', label: texts.modes.chat },
          { value: 'messages', label: texts.modes.messages },
          { value: 'compare', label: texts.modes.compare },
        ]}
        onChange={chooseMode}
      />
      <div class="playground-lanes">
        {lanes.map((lane, place) => (
          <LaneHead key={texts.lanes[place]} models={models} lanes={lanes} lane={lane} place={place} />
        ))}
      </div>
    </div>
  )
}

function LaneHead({ models, lanes, lane, place }: LaneHeadsProps & { readonly lane: Lane; readonly place: number }) {
  const texts = t().playground
  const isAlone = lanes.length === 1
  const side = texts.lanes[place] ?? ''
  return (
    <div class="playground-head">
      <div class="playground-head-fields">
        <select
          class="input"
          aria-label={isAlone ? texts.model : texts.modelOf(side)}
          value={lane.model}
          onChange={event => chooseLane(place, { model: event.currentTarget.value }, lanes)}
        >
          <ModelOptions models={models} chosen={lane.model} />
        </select>
        {!isAlone && (
          <select
            class="input"
            aria-label={texts.protocolOf(side)}
            value={lane.protocol}
            onChange={event =>
              chooseLane(place, { protocol: event.currentTarget.value === 'messages' ? 'messages' : 'chat' }, lanes)
            }
          >
            <option value="chat">{texts.protocols.chat}</option>
            <option value="messages">{texts.protocols.messages}</option>
          </select>
        )}
      </div>
      <About model={models.find(({ id }) => id === lane.model)} />
    </div>
  )
}

/** By vendor, as catalogs are long. */
function ModelOptions({ models, chosen }: { readonly models: readonly ModelView[]; readonly chosen: string }) {
  const vendors = Map.groupBy(models, ({ id }) => (id.includes('/') ? (id.split('/')[0] ?? '') : ''))
  return (
    <>
      {!models.some(({ id }) => id === chosen) && <option value={chosen}>{chosen}</option>}
      {[...vendors].map(([vendor, own]) =>
        vendor === '' ? (
          own.map(model => <ModelOption key={model.id} model={model} chosen={chosen} />)
        ) : (
          <optgroup key={vendor} label={vendor}>
            {own.map(model => (
              <ModelOption key={model.id} model={model} chosen={chosen} />
            ))}
          </optgroup>
        ),
      )}
    </>
  )
}

const ModelOption = ({ model, chosen }: { readonly model: ModelView; readonly chosen: string }) => (
  <option value={model.id} selected={model.id === chosen}>
    {isUnserved(model) ? `${model.id} (${t().playground.unserved})` : model.id}
  </option>
)

function About({ model }: { readonly model: ModelView | undefined }) {
  const texts = t().playground
  if (!model) return null
  const { price, reasoning } = model
  const words = [
    price ? texts.prices(money(price.input), money(price.output)) : texts.unpriced,
    ...(reasoning ? [texts.reasons] : []),
    ...(isUnserved(model) ? [texts.unserved] : []),
  ]
  return <p class="faint small">{words.join(' · ')}</p>
}
