import type { UsageReceiptView, UsageView } from '../../../src/admin/contract.ts'
import { dateTime, duration } from '../../app/format.ts'
import { useShortcuts } from '../../app/keys.ts'
import { t } from '../../app/language.ts'
import { closeTo, useResource } from '../../app/resource.ts'
import { go, href, pathTo, query } from '../../app/router.ts'
import { isAdmin } from '../../app/session.ts'
import {
  CopyButton,
  CopyText,
  Dialog,
  Facts,
  IconButton,
  LinkButton,
  Load,
  Money,
  Part,
  SkeletonRows,
} from '../../kit/index.ts'
import { accountName, hasAccounts } from './accounts.ts'
import { Content } from './content.tsx'
import { CutByFunds, WhatWentWrong } from './error.tsx'
import { Receipt } from './receipt.tsx'
import { RequestStatus } from './status.tsx'
import { Timeline } from './timeline.tsx'
import { TokensByClass } from './tokens.tsx'

interface RequestDetailProps {
  readonly id: string
  /** The list as it is filtered and ordered beside it: the way to the next and the previous one. */
  readonly rows: readonly UsageView[] | undefined
}

export function RequestDetail({ id, rows }: RequestDetailProps) {
  const request = useResource<UsageReceiptView>(pathTo('usage', id))
  const close = () => closeTo('/requests')
  const at = rows?.findIndex(row => row.request_id === id) ?? -1
  const newer = at > 0 ? rows?.[at - 1]?.request_id : undefined
  const older = at >= 0 ? rows?.[at + 1]?.request_id : undefined
  return (
    <Dialog title={t().requests.request} look="panel" isModal={false} onClose={close}>
      {/* Drawn anew once the list is there, so that its keys come after those of the list, and win. */}
      <WalkKeys key={String(rows !== undefined)} newer={newer} older={older} close={close} />
      <div class="row spread requests-head">
        <CopyText text={id} label={t().requests.copyId} />
        <span class="requests-walk">
          <IconButton
            icon="back"
            label={t().requests.previous}
            disabled={newer === undefined}
            onClick={() => openRequest(newer)}
          />
          <IconButton
            icon="chevron"
            label={t().requests.next}
            disabled={older === undefined}
            onClick={() => openRequest(older)}
          />
        </span>
      </div>
      <Load resource={request} skeleton={<SkeletonRows rows={8} />}>
        {view => <Parts request={view} />}
      </Load>
    </Dialog>
  )
}

/** Instead of the one that is open: "back" leads to the list, not through everything that was looked at. */
function openRequest(id: string | undefined): void {
  if (id === undefined) return
  go(pathTo('requests', id), { query: Object.fromEntries(query.value), replace: true, state: history.state })
}

interface WalkKeysProps {
  readonly newer: string | undefined
  readonly older: string | undefined
  readonly close: () => void
}

function WalkKeys({ newer, older, close }: WalkKeysProps) {
  useShortcuts({ j: () => openRequest(older), k: () => openRequest(newer), Escape: close })
  return null
}

function Parts({ request }: { readonly request: UsageReceiptView }) {
  const texts = t().requests
  const { receipt } = request
  return (
    <div class="requests-detail">
      {request.status !== 'ok' && <WhatWentWrong request={request} />}
      <Part title={texts.summary} actions={<RequestStatus status={request.status} model={request.model} />}>
        {request.ending === 'funds' && <CutByFunds request={request} />}
        <Summary request={request} />
        <div class="row">
          <LinkButton
            icon="playground"
            href={href('/playground', { model: request.model, protocol: request.protocol })}
          >
            {texts.playground}
          </LinkButton>
          <CopyButton text={receiptText(request)} label={texts.copyReceipt} />
        </div>
      </Part>
      <Timeline request={request} />
      <TokensByClass tokens={receipt.tokens} />
      <Receipt request={request} />
      <Content request={request} />
    </div>
  )
}

const receiptText = ({ request_id, receipt }: UsageReceiptView) => JSON.stringify({ request_id, ...receipt }, null, 2)

function Summary({ request }: { readonly request: UsageReceiptView }) {
  const texts = t().requests
  const { protocol, upstream_protocol: upstream, ending } = request
  const isTranslated = protocol !== upstream && request.receipt.attempts.length > 0
  const spoken = texts.protocols[protocol]
  const endings = texts.endings as Readonly<Record<string, string>>
  return (
    <Facts
      facts={[
        [texts.model, <code key="model">{request.model || '–'}</code>],
        [
          texts.key,
          <span key="key" class="requests-of-key">
            <a href={href(pathTo('keys', request.key))}>{request.key_name || request.key}</a>
            <a class="small" href={href('/requests', { key: request.key })}>
              {texts.sameKey}
            </a>
          </span>,
        ],
        hasAccounts() && ([t().common.account, accountName(request.account)] as const),
        [texts.cost, <Money key="cost" amount={request.cost} />],
        [texts.started, dateTime(request.started_at)],
        [texts.ttftLong, request.first_byte_ms === null ? '–' : duration(request.first_byte_ms)],
        [texts.total, duration(request.duration_ms)],
        [texts.protocol, isTranslated ? texts.translated(spoken, texts.protocols[upstream]) : spoken],
        [texts.stream, request.stream ? texts.streamed : texts.notStreamed],
        ending !== null && ([texts.ending, endings[ending] ?? ending] as const),
        isAdmin.value &&
          request.channel !== '' &&
          ([
            texts.channel,
            <a key="channel" href={href(pathTo('channels', request.channel))}>
              {request.channel}
            </a>,
          ] as const),
      ]}
    />
  )
}
