import { afterAll, beforeAll, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import type { Locator, Page } from 'playwright-core'
import { describeInBrowser, openConsole, settled } from '../support/browser.ts'
import { type Duet, type JsonBody, startDuet } from '../support/duet.ts'
import { inviteMember, type Person, signInAsOperator } from '../support/people.ts'
import { eventually } from '../support/wire.ts'
import { overflowsOf } from './overflow.ts'

const MODEL = 'anthropic/claude-haiku-4.5'
const OTHER_MODEL = 'openai/gpt-4.1'

describeInBrowser('keys', () => {
  let duet: Duet
  let operator: Person

  beforeAll(async () => {
    duet = await startDuet()
    operator = await signInAsOperator(duet)
  })
  afterAll(() => duet.stop())

  const newKey = async (name: string, limits: object = {}): Promise<JsonBody> =>
    (await duet.admin('POST', '/api/keys', { account: 'default', name, ...limits })).body
  const keyNow = async (id: string): Promise<JsonBody> => (await duet.admin('GET', `/api/keys/${id}`)).body
  const open = async (path: string, as = operator): Promise<Page> => {
    const page = await openConsole(duet, { path: `/keys${path}`, as })
    await settled(page)
    return page
  }

  const askChat = (key: string, model = MODEL) =>
    new OpenAI({ baseURL: duet.base, apiKey: key, maxRetries: 0 }).chat.completions.create({
      model,
      messages: [{ role: 'user', content: 'Hello' }],
      max_completion_tokens: 50,
    })
  const askMessages = (key: string) =>
    new Anthropic({ baseURL: duet.base, apiKey: key, maxRetries: 0 }).messages.create({
      model: MODEL,
      messages: [{ role: 'user', content: 'Hello' }],
      max_tokens: 50,
    })
  /** Status and code of a refusal; nothing of an answer. */
  const refusalOf = async (call: Promise<unknown>): Promise<unknown[]> =>
    call.then(
      () => [],
      error => [error.status, error.code],
    )

  // ── a new key ─────────────────────────────────────────────────────────────────────────────────────────────────────

  test('a new key is shown once, works with both official clients, and says when the first request came', async () => {
    const page = await open('')
    await page.getByRole('link', { name: 'Create key' }).first().click()
    const form = page.getByRole('dialog', { name: 'Create a key' })
    await form.getByLabel('Name').fill('laptop')
    await form.getByRole('radio', { name: 'At most' }).check()
    await form.getByLabel('Cap in dollars').fill('2.5')
    await form.getByRole('radio', { name: 'In 30 days' }).check()
    await form.getByRole('button', { name: 'Create key' }).click()

    const reveal = page.getByRole('dialog', { name: 'Save this key now' })
    const secret = await reveal.getByLabel('The new key').innerText()
    expect(secret).toMatch(/^sk-duet-.{43}$/)
    // Escape would lose what cannot be shown again.
    await page.keyboard.press('Escape')
    await reveal.getByText('Waiting for the first request').waitFor()
    expect(await codeOf(reveal, 'curl: Chat completions')).toContain(secret)

    const [chat, message] = [await askChat(secret), await askMessages(secret)]
    expect([chat.choices.length, message.content.length]).toEqual([1, 1])
    await reveal.getByText('First request received').waitFor()

    await reveal.getByRole('button', { name: 'I have saved it' }).click()
    await reveal.waitFor({ state: 'detached' })
    expect(new URL(page.url()).pathname).toBe('/console/keys')
    await rowOf(page, 'laptop').getByText('of $2.50').waitFor()
    expect(await page.content()).not.toContain(secret)
    await page.reload()
    await rowOf(page, 'laptop').waitFor()
    expect(await page.content()).not.toContain(secret)

    const { body } = await duet.admin('GET', '/api/keys')
    const key = body.data.find(({ name }: JsonBody) => name === 'laptop')
    expect(key).toMatchObject({ cap: '2.50', models: null, account: 'default' })
    const days = (Date.parse(key.expires_at) - Date.parse(key.created_at)) / 86_400_000
    expect(Math.round(days)).toBe(30)
  })

  test('a key for some models is refused for others, and its snippets use one that it may call', async () => {
    const page = await open('/new')
    const form = page.getByRole('dialog', { name: 'Create a key' })
    await form.getByLabel('Name').fill('narrow')
    await form.getByRole('radio', { name: 'Only some' }).check()
    await form.getByLabel('Find a model').fill('gpt 4.1')
    await form.getByRole('checkbox', { name: OTHER_MODEL }).first().check()
    await form.getByRole('button', { name: 'Create key' }).click()

    const reveal = page.getByRole('dialog', { name: 'Save this key now' })
    const secret = await reveal.getByLabel('The new key').innerText()
    expect(await codeOf(reveal, 'curl: Messages')).toContain(`"model":"${OTHER_MODEL}"`)
    expect(await refusalOf(askChat(secret))).toEqual([403, 'model_not_allowed'])
    expect(await refusalOf(askChat(secret, OTHER_MODEL))).toEqual([])
  })

  test('what is wrong is said beside its field, and nothing is made', async () => {
    const page = await open('/new')
    const form = page.getByRole('dialog', { name: 'Create a key' })
    await form.getByRole('radio', { name: 'At most' }).check()
    await form.getByLabel('Cap in dollars').fill('a lot')
    await form.getByRole('button', { name: 'Create key' }).click()
    const faultOf = async (label: string) => {
      const described = await form.getByLabel(label).getAttribute('aria-describedby')
      const texts = (described ?? '').split(' ').map(id => form.locator(`[id="${id}"]`).innerText())
      return (await Promise.all(texts)).join(' ')
    }
    expect(await faultOf('Name')).toContain('Give it a name')
    expect(await faultOf('Cap in dollars')).toContain('Enter an amount in dollars')

    // What only the server knows stands beside its field as well.
    await form.getByLabel('Name').fill('too rich')
    await form.getByLabel('Cap in dollars').fill('999999999999')
    await form.getByRole('button', { name: 'Create key' }).click()
    await form.getByRole('alert').waitFor()
    expect(await faultOf('Cap in dollars')).toContain('at most a billion')
    const { body } = await duet.admin('GET', '/api/keys?limit=500')
    expect(body.data.map(({ name }: JsonBody) => name)).not.toContain('too rich')
  })

  // ── the cap ───────────────────────────────────────────────────────────────────────────────────────────────────────

  test('a key at its cap says so and not that money is missing; raised there, the same call passes', async () => {
    const key = await newKey('capped', { cap: '0.00000001' })
    const page = await open('')
    // Something is left, and no call can start with it: that is not a healthy key.
    await rowOf(page, 'capped').getByText('Too little left').waitFor()
    await page.getByText('capped · This key’s cap leaves too little for a call').waitFor()
    expect(await refusalOf(askChat(key.key))).toEqual([403, 'pre_consume_token_quota_failed'])

    await rowOf(page, 'capped').getByRole('link').click()
    const panel = page.getByRole('dialog', { name: 'capped' })
    await panel.getByText('This key’s cap leaves too little for a call').waitFor()
    await panel.getByLabel('Set the cap to').fill('0')
    await panel.getByText('cannot be used until the cap is raised').waitFor()
    await panel.getByRole('button', { name: 'Set', exact: true }).click()
    // The list beside it hears of it too.
    await rowOf(page, 'capped').getByText('Cap reached').waitFor()
    const note = panel.locator('.note').filter({ hasText: 'This key’s cap is reached' })
    await note.getByText('403 pre_consume_token_quota_failed').waitFor()
    expect(await note.innerText()).toContain('Topping up the account does not')
    expect(await page.getByText('balance is used up').count()).toBe(0)

    await panel.getByRole('button', { name: '+$5.00' }).click()
    await page.getByText('The cap is $5.00 now').waitFor()
    await note.waitFor({ state: 'detached' })
    expect(await refusalOf(askChat(key.key))).toEqual([])
    // What it spent is shown without a reload.
    await panel.getByRole('table', { name: 'Recent requests' }).getByText('OK').waitFor()
    const { spent, cap } = await keyNow(key.id)
    expect([Number(spent) > 0, cap]).toEqual([true, '5.00'])
    await rowOf(page, 'capped').getByText('of $5.00').waitFor()
  })

  test('in the list a click, also a double one, raises a reached cap once, and it can be taken back', async () => {
    const key = await newKey('quick', { cap: '0' })
    const page = await open('?q=quick')
    await page.getByText('quick · This key’s cap is reached').waitFor()
    await rowOf(page, 'quick').getByRole('button', { name: '+$5.00' }).dblclick()
    await rowOf(page, 'quick').getByText('Active').waitFor()
    expect((await keyNow(key.id)).cap).toBe('5.00')
    expect(await page.getByText('The cap is').allInnerTexts()).toEqual(['The cap is $5.00 now'])
    await page.getByRole('button', { name: 'Undo' }).click()
    await rowOf(page, 'quick').getByText('Cap reached').waitFor()
    expect((await keyNow(key.id)).cap).toBe('0.00')
  })

  test('a new key whose first call is refused by its cap says so beside the secret, and is helped there', async () => {
    const page = await open('/new')
    const form = page.getByRole('dialog', { name: 'Create a key' })
    await form.getByLabel('Name').fill('too small')
    await form.getByRole('radio', { name: 'At most' }).check()
    await form.getByLabel('Cap in dollars').fill('0')
    await form.getByText('cannot be used until the cap is raised').waitFor()
    await form.getByLabel('Cap in dollars').fill('0.00001')
    await form.getByRole('button', { name: 'Create key' }).click()
    const reveal = page.getByRole('dialog', { name: 'Save this key now' })
    const secret = await reveal.getByLabel('The new key').innerText()
    await page.getByText('Live: what you see updates by itself').waitFor({ state: 'attached' })
    expect(await refusalOf(askChat(secret))).toEqual([403, 'pre_consume_token_quota_failed'])
    await reveal.getByText('This key’s cap leaves too little for a call').waitFor()
    await reveal.getByRole('button', { name: '+$5.00' }).click()
    await reveal.getByText('Waiting for the first request').waitFor()
    expect(await refusalOf(askChat(secret))).toEqual([])
    await reveal.getByText('First request received').waitFor()
  })

  test('a refused request leads to the cap, where it can be removed', async () => {
    const key = await newKey('stuck', { cap: '0.00000001' })
    await refusalOf(askChat(key.key))
    // Nobody waits for a refusal to be written down.
    const [refused] = await eventually(
      async (): Promise<JsonBody[]> => (await duet.admin('GET', `/api/usage?key=${key.id}`)).body.data,
      rows => rows.length === 1,
    )
    const page = await openConsole(duet, { path: `/requests/${refused?.request_id}`, as: operator })
    await page.getByRole('link', { name: 'Raise the cap' }).click()
    const panel = page.getByRole('dialog', { name: 'stuck' })
    await panel.getByRole('button', { name: 'Remove the cap' }).click()
    await panel.getByText('No cap: this key may spend the whole balance').waitFor()
    expect((await keyNow(key.id)).cap).toBeNull()
    expect(await refusalOf(askChat(key.key))).toEqual([])
  })

  // ── changes ───────────────────────────────────────────────────────────────────────────────────────────────────────

  test('a disabled key is refused at once, and works again when it is enabled', async () => {
    const key = await newKey('switch')
    const page = await open(`/${key.id}`)
    const panel = page.getByRole('dialog', { name: 'switch' })
    await panel.getByRole('switch', { name: 'Enabled' }).uncheck()
    await page.getByText('The key is disabled').waitFor()
    await rowOf(page, 'switch').getByText('Disabled').waitFor()
    expect((await refusalOf(askChat(key.key)))[0]).toBe(401)

    await panel.getByRole('switch', { name: 'Enabled' }).check()
    await page.getByText('The key is enabled').waitFor()
    expect(await refusalOf(askChat(key.key))).toEqual([])
  })

  test('a key is renamed and kept to some models, the list says so, and its end stays what it was', async () => {
    const expires_at = '2090-05-06T07:08:09.000Z'
    const key = await newKey('before', { expires_at })
    const page = await open(`/${key.id}`)
    const panel = page.getByRole('dialog', { name: 'before' })
    await panel.getByText('Ends on May 6, 2090, 7:08:09').waitFor()
    expect(await page.locator('input:focus').count()).toBe(0)
    expect(await panel.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true)
    await panel.getByLabel('Name').fill('after')
    await panel.getByRole('radio', { name: 'Only some' }).check()
    await panel.getByRole('checkbox', { name: OTHER_MODEL }).first().check()
    await panel.getByRole('button', { name: 'Save' }).click()
    await rowOf(page, 'after').getByText(OTHER_MODEL).waitFor()
    expect(await keyNow(key.id)).toMatchObject({ name: 'after', models: [OTHER_MODEL], expires_at })
    expect(await refusalOf(askChat(key.key))).toEqual([403, 'model_not_allowed'])
  })

  test('how often a key may call is limited when it is made, changed later, and holds at once', async () => {
    const page = await open('/new')
    const form = page.getByRole('dialog', { name: 'Create a key' })
    await form.getByLabel('Name').fill('slow')
    await form.getByLabel('Requests per minute').fill('0')
    await form.getByRole('button', { name: 'Create key' }).click()
    await form.getByText('A whole number from 1 to 1,000,000, or nothing').waitFor()
    await form.getByLabel('Requests per minute').fill('1')
    await form.getByRole('button', { name: 'Create key' }).click()
    const reveal = page.getByRole('dialog', { name: 'Save this key now' })
    const secret = await reveal.getByLabel('The new key').innerText()
    await reveal.getByRole('button', { name: 'I have saved it' }).click()
    expect(await refusalOf(askChat(secret))).toEqual([])
    expect(await refusalOf(askChat(secret))).toEqual([429, 'rate_limited'])

    await rowOf(page, 'slow').getByRole('link').click()
    const panel = page.getByRole('dialog', { name: 'slow' })
    expect(await panel.getByLabel('Requests per minute').inputValue()).toBe('1')
    await panel.getByLabel('Requests per minute').fill('')
    await panel.getByLabel('Requests at once').fill('3')
    await panel.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved').waitFor()
    expect(await refusalOf(askChat(secret))).toEqual([])
    const { body } = await duet.admin('GET', '/api/keys?limit=500')
    const key = body.data.find(({ name }: JsonBody) => name === 'slow')
    expect(key).toMatchObject({ max_concurrent: 3, max_per_minute: null })
  })

  test('revoking asks for the name, and is refused with 401 from then on', async () => {
    const key = await newKey('goner')
    const page = await open(`/${key.id}`)
    await page.getByRole('dialog', { name: 'goner' }).getByRole('button', { name: 'Revoke key' }).click()
    const question = page.getByRole('dialog', { name: 'Revoke “goner”?' })
    await question.getByText('Its requests and costs stay on record, under Requests').waitFor()
    const confirm = question.getByRole('button', { name: 'Revoke key' })
    expect(await confirm.isDisabled()).toBe(true)
    await question.getByLabel('Type “goner” to confirm').fill('gone')
    expect(await confirm.isDisabled()).toBe(true)
    expect(await refusalOf(askChat(key.key))).toEqual([])

    await question.getByLabel('Type “goner” to confirm').fill('goner')
    await confirm.click()
    await page.getByText('“goner” is revoked').waitFor()
    await rowOf(page, 'goner').waitFor({ state: 'detached' })
    expect((await refusalOf(askChat(key.key)))[0]).toBe(401)
  })

  test('storing prompts is switched on by an admin after a warning, and a member sees that it is on', async () => {
    const member = await inviteMember(duet, 'Mei')
    const key = await newKey('notes', { account: member.session.account.id })
    const page = await open(`/${key.id}`)
    const panel = page.getByRole('dialog', { name: 'notes' })
    await panel.getByRole('button', { name: 'Store them' }).click()
    await panel.getByText('Everything sent with this key will be readable here').waitFor()
    await panel.getByLabel('Delete after').fill('400')
    await panel.getByRole('button', { name: 'Store them' }).click()
    await panel.getByText('A whole number from 1 to 365').waitFor()
    await panel.getByLabel('Delete after').fill('3')
    await panel.getByRole('button', { name: 'Store them' }).click()
    await panel.getByText('is stored, encrypted, for 3 days').waitFor()
    expect((await keyNow(key.id)).keep_days).toBe(3)

    const theirs = await open(`/${key.id}`, member)
    const seen = theirs.getByRole('dialog', { name: 'notes' })
    await seen.getByText('is stored, encrypted, for 3 days').waitFor()
    expect(await seen.getByRole('button', { name: 'Stop storing' }).count()).toBe(0)
  })

  // ── the list ──────────────────────────────────────────────────────────────────────────────────────────────────────

  test('at every width the list fits, with the name of a key in one piece and its actions in sight', async () => {
    const lin = await inviteMember(duet, 'Lin')
    await newKey('of somebody else', { account: lin.session.account.id, models: [MODEL, OTHER_MODEL], cap: '0' })
    const page = await open('?q=somebody')
    for (const width of [360, 768, 1024, 1280, 1440]) {
      await page.setViewportSize({ width, height: 900 })
      expect([width, ...(await overflowsOf(page))]).toEqual([width, 0, 0])
      const row = rowOf(page, 'of somebody else')
      const { height = 99 } = (await row.locator('code').boundingBox()) ?? {}
      expect([height < 30, await row.getByRole('button', { name: 'Actions for' }).isVisible()]).toEqual([true, true])
    }
  })

  test('the list is walked and filtered by keyboard, and the filter survives opening a key and going back', async () => {
    await newKey('walk one')
    await newKey('walk two')
    const page = await open('')
    await page.keyboard.press('/')
    await page.keyboard.type('walk')
    await page.waitForURL('**/keys?q=walk')
    await page.keyboard.press('Escape')
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'walk one' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(new URL(page.url()).search).toBe('?q=walk')
    await page.goBack()
    await page.getByRole('dialog', { name: 'walk one' }).waitFor()
    expect(await page.getByRole('table', { name: 'Keys' }).locator('tbody tr').count()).toBe(2)
  })
})

const rowOf = (page: Page, name: string): Locator =>
  page.getByRole('table', { name: 'Keys' }).getByRole('row').filter({ hasText: name })

const codeOf = (dialog: Locator, label: string): Promise<string> =>
  dialog.getByRole('region', { name: label }).innerText()
