import { z } from 'zod'
import type { Account, Directory } from '../core/directory.ts'
import { newSecret } from '../core/ids.ts'
import { formatDollars, ZERO } from '../core/money.ts'
import {
  type Delivered,
  type Notice,
  type NoticeSubject,
  type Notices,
  type NoticeTarget,
  openTarget,
  sealTarget,
} from '../core/notices.ts'
import type { Sealer } from '../core/seal.ts'
import { accountFor } from './accounts.ts'
import { NewNoticeView, NoticeTestView, NoticeView } from './contract.ts'
import { notFound, unprocessable } from './failure.ts'
import { dollars, read } from './input.ts'
import { type Actor, done, ok, type Routes } from './route.ts'

export interface NoticesDeps {
  readonly notices: Notices
  readonly directory: Directory
  readonly sealer: Sealer
  /** Sends a webhook a message that says it is a test. */
  testNotice(target: NoticeTarget, subject: NoticeSubject): Promise<Delivered>
}

const URL_CHARACTERS_MAX = 2000

const webhook = z
  .string('must be an address such as https://example.com/hook')
  .max(URL_CHARACTERS_MAX, `must have at most ${URL_CHARACTERS_MAX} characters`)
  .transform((value, context): string => {
    const url = URL.parse(value.trim())
    if (!url || !/^https?:$/.test(url.protocol)) context.addIssue('must be an http or https address')
    else if (url.username !== '' || url.password !== '') {
      context.addIssue('must have no name and password in it: deliveries are signed instead')
    } else return url.href
    return z.NEVER
  })

const NOTICE = z.strictObject({
  threshold: dollars.refine(amount => amount > ZERO, 'must be above zero'),
  url: webhook,
})

async function setNotice(account: Account, body: unknown, { notices, sealer }: NoticesDeps): Promise<NewNoticeView> {
  const { threshold, url } = read(NOTICE, body)
  const target = { url, secret: newSecret() }
  const notice = await notices.set({ accountId: account.id, threshold, sealed: sealTarget(target, sealer) })
  return { ...viewNotice(notice, shownUrl(url)), secret: target.secret }
}

async function showNotice(account: Account, actor: Actor, deps: NoticesDeps): Promise<NoticeView> {
  const notice = await findNotice(account, deps)
  const target = openTarget(notice.sealed, deps.sealer)
  if (!target) return viewNotice(notice, '')
  return viewNotice(notice, actor.role === 'admin' ? shownUrl(target.url) : hiddenUrl(target.url))
}

async function testNotice(account: Account, deps: NoticesDeps): Promise<NoticeTestView> {
  const notice = await findNotice(account, deps)
  const target = openTarget(notice.sealed, deps.sealer)
  if (!target) throw unprocessable('the address was sealed with another DUET_SECRET: set it anew', 'url')
  const subject = { accountId: account.id, accountName: account.name, balance: account.balance }
  const { status, error } = await deps.testNotice(target, { ...subject, threshold: notice.threshold })
  return { ok: error === undefined, status: status ?? null, error: error ?? null }
}

async function findNotice(account: Account, { notices }: NoticesDeps): Promise<Notice> {
  const notice = await notices.notice(account.id)
  if (!notice) throw notFound(`a notice of account ${account.name}`)
  return notice
}

/** Query strings hold tokens. */
function shownUrl(url: string): string {
  const { origin, pathname, search } = new URL(url)
  return `${origin}${pathname}${search === '' ? '' : '?…'}`
}

/** Paths do so, too, with some services; members need not know them. */
const hiddenUrl = (url: string): string => `${new URL(url).origin}/…`

const viewNotice = ({ threshold, toldAt, failures, error }: Notice, url: string): NoticeView => ({
  threshold: formatDollars(threshold),
  url,
  told_at: toldAt === undefined ? null : new Date(toldAt).toISOString(),
  failures,
  error: error ?? null,
})

export const noticeRoutes: Routes<NoticesDeps> = {
  'GET /accounts/*/notice': {
    access: 'member',
    summary: 'The low-balance notice of an account',
    answers: { 200: NoticeView },
    handle: async ({ ids: [id = ''], actor, deps }) =>
      ok(await showNotice(await accountFor(actor, id, deps.directory), actor, deps)),
  },
  'PUT /accounts/*/notice': {
    access: 'admin',
    summary: 'Have a webhook told when the balance falls below a threshold; its secret is new each time',
    body: NOTICE,
    answers: { 200: NewNoticeView },
    handle: async ({ ids: [id = ''], json, actor, deps }) =>
      ok(await setNotice(await accountFor(actor, id, deps.directory), await json(), deps)),
  },
  'DELETE /accounts/*/notice': {
    access: 'admin',
    summary: 'Tell nobody any more',
    answers: { 204: null },
    handle: async ({ ids: [id = ''], actor, deps }) => {
      const account = await accountFor(actor, id, deps.directory)
      if (!(await deps.notices.remove(account.id))) throw notFound(`a notice of account ${account.name}`)
      return done
    },
  },
  'POST /accounts/*/notice/test': {
    access: 'admin',
    summary: 'Send the webhook a message that says it is a test',
    answers: { 200: NoticeTestView },
    handle: async ({ ids: [id = ''], actor, deps }) =>
      ok(await testNotice(await accountFor(actor, id, deps.directory), deps)),
  },
}
