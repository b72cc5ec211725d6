import { useSignal } from '@preact/signals'
import type { UsageList, UsageView } from '../../../src/admin/contract.ts'
import { t } from '../../app/language.ts'
import { go, pathTo, query, setQuery } from '../../app/router.ts'
import { isAdmin } from '../../app/session.ts'
import { AccountSelect, Button, FilterBar, Icon, QuerySelect } from '../../kit/index.ts'
import { asRange, RANGE_NAMES } from './filter.ts'
import { findRequestId } from './request-id.ts'
import { CODES, statusText } from './status.tsx'

const NAMES = ['range', 'from', 'to', 'key', 'model', 'status', 'protocol', 'channel', 'account']

export const isFiltered = (): boolean => NAMES.some(name => query.value.has(name))

interface FiltersProps {
  /** They come with the list. */
  readonly choices: UsageList['choices']
  /** Their keys can be chosen too: those that are revoked are no choice of the server's. */
  readonly rows: readonly UsageView[] | undefined
}

export function Filters({ choices = { keys: [], models: [], channels: [] }, rows = [] }: FiltersProps) {
  const texts = t().requests
  const isOpen = useSignal(false)
  return (
    <div class={isOpen.value || isFiltered() ? 'requests-filters is-open' : 'requests-filters'}>
      <div class="requests-find">
        <IdSearch />
        <div class="requests-more">
          <Button icon="filter" onClick={() => (isOpen.value = !isOpen.value)}>
            {texts.filters}
          </Button>
        </div>
      </div>
      <FilterBar names={NAMES}>
        <TimeFilter />
        <QuerySelect
          name="status"
          label={t().common.status}
          all={texts.allStatuses}
          options={[
            { value: 'ok', label: texts.statuses.ok },
            { value: 'error', label: texts.anyError },
            ...CODES.map(code => ({ value: code, label: filterText(code) })),
          ]}
        />
        <QuerySelect
          name="model"
          label={texts.model}
          all={texts.allModels}
          options={choices.models.map(id => ({ value: id, label: id }))}
        />
        <QuerySelect
          name="key"
          label={texts.key}
          all={texts.allKeys}
          options={[...keyNames(choices, rows)].map(([value, label]) => ({ value, label }))}
        />
        <QuerySelect
          name="protocol"
          label={texts.protocol}
          all={texts.allProtocols}
          options={(['chat', 'messages'] as const).map(name => ({ value: name, label: texts.protocols[name] }))}
        />
        {isAdmin.value && (
          <QuerySelect
            name="channel"
            label={texts.channel}
            all={texts.allChannels}
            options={choices.channels.map(name => ({ value: name, label: name }))}
          />
        )}
        <AccountSelect />
      </FilterBar>
    </div>
  )
}

const keyNames = ({ keys }: NonNullable<FiltersProps['choices']>, rows: readonly UsageView[]) =>
  new Map([
    ...rows.map(({ key, key_name }) => [key, key_name || key] as const),
    ...keys.map(({ id, name }) => [id, name] as const),
  ])

/** One code for two things, which a row can tell apart and a filter cannot. */
const filterText = (code: string): string =>
  code === 'model_not_found' ? t().requests.unknownOrUnserved : statusText(code)

const CUSTOM = 'custom'
const HOUR_MS = 3_600_000

function TimeFilter() {
  const texts = t().requests
  const range = asRange(query.value.get('range'))
  const [from, to] = [query.value.get('from'), query.value.get('to')]
  const isCustom = range === undefined && (from !== null || to !== null)
  const value = range ?? (isCustom ? CUSTOM : '')
  const choose = (next: string) => {
    if (next !== CUSTOM) return setQuery({ range: next, from: null, to: null })
    const start = new Date(Date.now() - HOUR_MS)
    start.setSeconds(0, 0)
    setQuery({ range: null, from: start.toISOString(), to: null })
  }
  return (
    <>
      <select
        class={value === '' ? 'input filter' : 'input filter is-set'}
        aria-label={texts.time}
        value={value}
        onChange={event => choose(event.currentTarget.value)}
      >
        <option value="">{texts.anyTime}</option>
        {RANGE_NAMES.map(name => (
          <option key={name} value={name}>
            {texts.ranges[name]}
          </option>
        ))}
        <option value={CUSTOM}>{texts.custom}</option>
      </select>
      {isCustom && (
        <>
          <Moment name="from" label={texts.from} at={from} />
          <Moment name="to" label={texts.to} at={to} />
        </>
      )}
    </>
  )
}

/** In the reader's time zone; the address has it in UTC. */
function Moment({ name, label, at }: { readonly name: string; readonly label: string; readonly at: string | null }) {
  return (
    <label class="requests-moment">
      <span>{label}</span>
      <input
        class="input filter"
        type="datetime-local"
        value={at === null ? '' : localTime(at)}
        onChange={event => {
          const time = Date.parse(event.currentTarget.value)
          setQuery({ [name]: Number.isNaN(time) ? null : new Date(time).toISOString() })
        }}
      />
    </label>
  )
}

function localTime(iso: string): string {
  const at = new Date(iso)
  if (Number.isNaN(at.getTime())) return ''
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 'YYYY-MM-DDTHH:MM'.length)
}

/** Straight to one request: by its id, or by the error message that names it. */
function IdSearch() {
  const texts = t().requests
  const typed = useSignal('')
  const isWrong = useSignal(false)
  const find = (text: string): boolean => {
    const id = findRequestId(text)
    isWrong.value = id === undefined && text.trim() !== ''
    if (id === undefined) return false
    typed.value = ''
    go(pathTo('requests', id), { query: Object.fromEntries(query.value), state: history.state })
    return true
  }
  return (
    <search class="requests-search">
      <form
        class="input-frame"
        onSubmit={event => {
          event.preventDefault()
          find(typed.value)
        }}
      >
        <Icon name="search" />
        <input
          type="search"
          data-filter=""
          aria-label={texts.search}
          aria-describedby={isWrong.value ? 'requests-no-id' : undefined}
          aria-invalid={isWrong.value ? 'true' : undefined}
          placeholder={texts.search}
          autoComplete="off"
          spellcheck={false}
          value={typed}
          onInput={event => {
            typed.value = event.currentTarget.value
            isWrong.value = false
          }}
          onPaste={event => {
            if (find(event.clipboardData?.getData('text') ?? '')) event.preventDefault()
          }}
          onKeyDown={event => {
            if (event.key === 'Escape') event.currentTarget.blur()
          }}
        />
      </form>
      {isWrong.value && (
        <p class="field-error" id="requests-no-id" role="alert">
          {texts.noId}
        </p>
      )}
    </search>
  )
}
