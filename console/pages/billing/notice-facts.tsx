import { useSignal } from '@preact/signals'
import type { AccountView, NoticeTestView, NoticeView } from '../../../src/admin/contract.ts'
import { api } from '../../app/api.ts'
import { t } from '../../app/language.ts'
import { isAdmin } from '../../app/session.ts'
import { toastError } from '../../app/toasts.tsx'
import { Badge, Button, Card, Facts, Money, Note, Time } from '../../kit/index.ts'

interface NoticeFactsProps {
  readonly account: AccountView
  readonly notice: NoticeView
  readonly path: string
  readonly onEdit: () => void
  readonly onRemove: () => void
}

export function NoticeFacts({ account, notice, path, onEdit, onRemove }: NoticeFactsProps) {
  const texts = t().billing
  const isBusy = useSignal(false)
  const tested = useSignal<NoticeTestView | null>(null)
  const test = async () => {
    isBusy.value = true
    tested.value = null
    tested.value = await api.post<NoticeTestView>(`${path}/test`).catch(error => {
      toastError(error)
      return null
    })
    isBusy.value = false
  }
  return (
    <Card>
      <div class="stack">
        <Facts
          facts={[
            [texts.state, <State key="state" notice={notice} />],
            [texts.threshold, <Money key="threshold" amount={notice.threshold} />],
            [texts.balance, <Money key="balance" amount={account.balance} />],
            [texts.lastTold, <Time key="told" at={notice.told_at} none={texts.notTold} />],
            [texts.url, <code key="url">{notice.url || '–'}</code>],
          ]}
        />
        {notice.failures > 0 && (
          <Note tone="bad" title={texts.failures(notice.failures)}>
            {notice.error}
          </Note>
        )}
        {tested.value && <TestResult result={tested.value} />}
        {isAdmin.value && (
          <div class="row">
            <Button icon="bolt" isBusy={isBusy.value} onClick={test}>
              {texts.test}
            </Button>
            <Button icon="edit" onClick={onEdit}>
              {texts.editNotice}
            </Button>
            <Button kind="quiet" icon="trash" onClick={onRemove}>
              {texts.removeNotice}
            </Button>
          </div>
        )}
      </div>
    </Card>
  )
}

function State({ notice }: { readonly notice: NoticeView }) {
  const texts = t().billing
  if (notice.failures > 0) return <Badge tone="bad">{texts.stateFailing}</Badge>
  return notice.told_at === null ? (
    <Badge tone="good">{texts.stateWatching}</Badge>
  ) : (
    <Badge tone="warn">{texts.stateTold}</Badge>
  )
}

function TestResult({ result: { ok, status, error } }: { readonly result: NoticeTestView }) {
  const texts = t().billing
  return (
    <div role="status">
      {ok ? (
        <Note tone="good">{texts.testOk(status)}</Note>
      ) : (
        <Note tone="bad" title={texts.testFailed}>
          {error}
        </Note>
      )}
    </div>
  )
}
