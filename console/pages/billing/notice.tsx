import { useSignal } from '@preact/signals'
import type { AccountView, NewNoticeView, NoticeView } from '../../../src/admin/contract.ts'
import { api } from '../../app/api.ts'
import { t } from '../../app/language.ts'
import { useResource } from '../../app/resource.ts'
import { pathTo } from '../../app/router.ts'
import { isAdmin } from '../../app/session.ts'
import { toast, toastError } from '../../app/toasts.tsx'
import { Button, Card, confirm, Empty, Load } from '../../kit/index.ts'
import { NoticeFacts } from './notice-facts.tsx'
import { NoticeDialog, SecretDialog } from './notice-form.tsx'

/** Who is told when the money runs low. Members may know it; admins set it. */
export function Notice({ account }: { readonly account: AccountView }) {
  const texts = t().billing
  const path = `${pathTo('accounts', account.id)}/notice`
  const notice = useResource<NoticeView | null>(path)
  const isEditing = useSignal(false)
  const secret = useSignal<string | null>(null)
  const isNone = notice.error?.status === 404

  const saved = ({ secret: shown }: NewNoticeView) => {
    isEditing.value = false
    secret.value = shown
    notice.reload()
  }
  const remove = async () => {
    const { removeNoticeTitle: title, removeNoticeText: text, removeNotice: action } = texts
    if (!(await confirm({ title, text, action, isDangerous: true }))) return
    await api.delete(path).then(() => toast(texts.noticeRemoved), toastError)
    notice.reload()
  }
  const edit = () => (isEditing.value = true)
  return (
    <>
      <div class="billing-part">
        <p>{texts.noticeText}</p>
      </div>
      {isNone ? (
        <NoNotice onSetUp={edit} />
      ) : (
        <Load resource={notice}>
          {view => view && <NoticeFacts account={account} notice={view} path={path} onEdit={edit} onRemove={remove} />}
        </Load>
      )}
      {isEditing.value && (
        <NoticeDialog
          account={account}
          path={path}
          current={isNone ? null : (notice.data ?? null)}
          onSaved={saved}
          onClose={() => (isEditing.value = false)}
        />
      )}
      {secret.value !== null && <SecretDialog secret={secret.value} onClose={() => (secret.value = null)} />}
    </>
  )
}

function NoNotice({ onSetUp }: { readonly onSetUp: () => void }) {
  const texts = t().billing
  return (
    <Card isTight>
      <Empty
        icon="bell"
        title={texts.noNotice}
        text={isAdmin.value ? texts.noNoticeText : texts.noNoticeMember}
        action={
          isAdmin.value && (
            <Button kind="primary" onClick={onSetUp}>
              {texts.setUpNotice}
            </Button>
          )
        }
      />
    </Card>
  )
}
