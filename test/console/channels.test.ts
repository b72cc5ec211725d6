import { afterAll, beforeAll, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import OpenAI from 'openai'
import type { Page } from 'playwright-core'
import { describeInBrowser, openConsole, settled } from '../support/browser.ts'
import { type Duet, type JsonBody, startDuet } from '../support/duet.ts'
import { type Person, signInAsOperator } from '../support/people.ts'
import { type ScriptedUpstream, scriptUpstream, VENDOR_KEY } from '../support/upstream.ts'
import { vendorAnswer, vendorError } from '../support/vendor.ts'

const ADDED = 'anthropic/claude-haiku-4.5'
const FILED = 'openai/gpt-4.1'
const FAILING = 'deepseek/deepseek-chat'
const SHARED = 'openai/gpt-5-mini'
const REVOKED_KEY = 'a-revoked-vendor-key-1111'

describeInBrowser('channels', () => {
  let duet: Duet
  let operator: Person
  let upstream: ScriptedUpstream
  let refusing: ScriptedUpstream

  const file = (extra = '') => `
channels:
  - name: from-file
    protocol: messages
    base_url: ${upstream.base}
    api_key: the-key-of-the-file-0123
    models: { ${FILED}: filed-model }
${extra}`

  beforeAll(async () => {
    upstream = scriptUpstream(visit =>
      visit.headers.get('authorization') === `Bearer ${REVOKED_KEY}`
        ? Response.json(vendorError('chat', 'this key was revoked'), { status: 401 })
        : vendorAnswer(visit),
    )
    refusing = scriptUpstream(() => Response.json(vendorError('chat', 'the vendor is on fire'), { status: 500 }))
    duet = await startDuet({ config: file() })
    operator = await signInAsOperator(duet)
  })
  afterAll(() => Promise.all([duet.stop(), upstream.stop(), refusing.stop()]))

  const open = async (path = '') => {
    const page = await openConsole(duet, { path: `/channels${path}`, as: operator })
    await settled(page)
    return page
  }
  const channelNow = async (name: string): Promise<JsonBody> =>
    (await duet.admin('GET', '/api/channels')).body.data.find((channel: JsonBody) => channel.name === name)
  const ask = (model: string) =>
    new OpenAI({ baseURL: duet.base, apiKey: duet.key, maxRetries: 0 }).chat.completions.create({
      model,
      messages: [{ role: 'user', content: 'Hello' }],
      max_completion_tokens: 20,
    })
  const textOf = async (model: string) => (await ask(model)).choices[0]?.message.content
  const refusalOf = async (model: string) => (await ask(model).catch(error => error)).status as number | undefined
  const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name, exact: true })
  const toggle = (page: Page, name: 'Pause' | 'Resume') => page.locator('.page-header').getByRole('button', { name })
  const pause = async (page: Page, only: string) => {
    await toggle(page, 'Pause').click()
    await page.getByRole('dialog').getByText(`1 model loses its last channel: ${only}.`).waitFor()
    await page.getByRole('button', { name: 'Pause channel' }).click()
    await toggle(page, 'Resume').waitFor()
  }

  test('one that is added here is tested, and answers the next call of the official client', async () => {
    const page = await open()
    await page.getByRole('link', { name: 'Add channel' }).click()
    await page.getByLabel('Base URL').fill(upstream.base)
    await page.getByLabel('Name', { exact: true }).fill('added-here')
    await page.getByLabel('API key').fill(VENDOR_KEY)
    await page.getByLabel('Find a model').fill('haiku')
    await page.getByRole('checkbox', { name: ADDED }).check()
    await page.getByLabel(`Name of ${ADDED} upstream`).fill('haiku-upstream')
    await page.getByRole('button', { name: 'Add channel' }).click()
    await heading(page, 'added-here').waitFor()
    expect(page.url()).toBe(`${duet.url}/console/channels/added-here`)
    // The form was longer than the window; its end is not where to begin reading.
    expect(await page.evaluate('scrollY')).toBe(0)
    const unused = page.locator('.note', { hasText: 'Nothing has been sent through it since Duet was started' })
    await unused.getByRole('button', { name: 'Test' }).click()
    const dialog = page.getByRole('dialog', { name: 'Test added-here' })
    await dialog.getByText('Answered').nth(1).waitFor()
    expect(await dialog.getByText('Good morning').count()).toBe(2)
    await dialog.getByText('Translated to Chat Completions for the upstream.').waitFor()
    await dialog.getByText('What the upstream was sent').last().click()
    await dialog.getByText('"model": "haiku-upstream"').last().waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await page.getByText('The test was answered in both protocols').waitFor()
    expect(await unused.count()).toBe(0)

    upstream.requests.length = 0
    expect(await textOf(ADDED)).toBe('Good morning')
    expect(upstream.requests).toMatchObject([{ path: '/v1/chat/completions', body: { model: 'haiku-upstream' } }])
    expect(upstream.requests[0]?.headers.get('authorization')).toBe(`Bearer ${VENDOR_KEY}`)
    // By itself, without a reload.
    await page.getByText('Healthy').first().waitFor()
  })

  test('the vendor’s key is nowhere to be read again', async () => {
    const { keys } = await channelNow('added-here')
    const answers: string[] = []
    const page = await openConsole(duet, { as: operator })
    page.on('response', async response => {
      if (response.url().includes('/api/') && !response.url().endsWith('/events'))
        answers.push(await response.text().catch(() => ''))
    })
    for (const path of ['/channels', '/channels/added-here', '/channels/added-here?edit=true']) {
      await page.goto(`${duet.url}/console${path}`)
      await settled(page)
      const written = await page
        .locator('input')
        .evaluateAll(inputs => inputs.map(input => Reflect.get(input, 'value')))
      expect((await page.content()) + written.join('\n')).not.toContain(VENDOR_KEY)
    }
    await page.goto(`${duet.url}/console/channels/added-here`)
    await page.getByRole('cell', { name: keys[0].hint }).waitFor()
    await page.getByRole('button', { name: 'Add key' }).click()
    const field = page.getByRole('dialog').getByLabel('API key')
    expect(await field.inputValue()).toBe('')
    await page.getByText('it cannot be read again').waitFor()
    expect(answers.filter(text => text.includes('added-here')).length).toBeGreaterThan(0)
    expect(answers.join('\n')).not.toContain(VENDOR_KEY)
  })

  test('a second key is added, and one that is paused is not used', async () => {
    const page = await open('/added-here')
    await page.getByRole('button', { name: 'Add key' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Add key' }).click()
    await dialog.getByText('Paste the key that the vendor gave you.').waitFor()
    await dialog.getByLabel('API key').fill('another-vendor-key-8888')
    await dialog.getByRole('button', { name: 'Add key' }).click()
    await dialog.waitFor({ state: 'detached' })

    const rows = page.getByRole('table', { name: 'Vendor keys' }).locator('tbody tr')
    const first = rows.first()
    await rows.nth(1).waitFor()
    await first.getByRole('button', { name: 'Pause' }).click()
    await first.getByText('Paused').waitFor()
    upstream.requests.length = 0
    for (let call = 0; call < 3; call++) await ask(ADDED)
    const used = upstream.requests.map(({ headers }) => headers.get('authorization'))
    expect(new Set(used)).toEqual(new Set(['Bearer another-vendor-key-8888']))

    await first.getByRole('button', { name: 'Resume' }).click()
    await first.getByRole('button', { name: 'Pause' }).waitFor()
    await rows.nth(1).getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('button', { name: 'Remove key' }).click()
    await rows.nth(1).waitFor({ state: 'detached' })
    expect(await textOf(ADDED)).toBe('Good morning')
    expect(upstream.requests.at(-1)?.headers.get('authorization')).toBe(`Bearer ${VENDOR_KEY}`)
  })

  test('a paused one gets no calls until it is resumed, and which models that takes away is said before', async () => {
    const page = await open('/added-here')
    await pause(page, ADDED)
    await page.getByText('It gets no requests.').waitFor()
    upstream.requests.length = 0
    expect(await refusalOf(ADDED)).toBeGreaterThanOrEqual(400)
    expect(upstream.requests).toEqual([])

    await toggle(page, 'Resume').click()
    await toggle(page, 'Pause').waitFor()
    expect(await textOf(ADDED)).toBe('Good morning')
  })

  test('a change takes effect with the next call', async () => {
    const page = await open('/added-here')
    await page.getByRole('link', { name: 'Edit' }).click()
    await page.getByLabel(`Name of ${ADDED} upstream`).fill('haiku-renamed')
    await page.getByText('Advanced').click()
    await page.getByLabel('Priority').fill('3')
    await page.getByLabel('Wait between bytes').fill('90s')
    await page.getByLabel('Capabilities').fill('top_k: true\nefforts: [low, high]')
    await page.getByRole('button', { name: 'Save' }).click()
    await heading(page, 'added-here').waitFor()
    await page.getByText('1 min 30 s').waitFor()
    await ask(ADDED)
    expect(upstream.requests.at(-1)?.body.model).toBe('haiku-renamed')
    expect(await channelNow('added-here')).toMatchObject({
      priority: 3,
      capabilities: { [ADDED]: { top_k: true, efforts: ['low', 'high'] } },
    })
  })

  test('every fault is told at once, beside the field it concerns', async () => {
    const page = await open('/new')
    const add = page.getByRole('button', { name: 'Add channel' })
    const about = (label: string | RegExp) => describedBy(page, label)
    await page.getByLabel('Name', { exact: true }).fill('not a name')
    await page.getByLabel('Base URL').fill('ftp://example.com')
    await page.getByText('Advanced').click()
    await page.getByLabel('Wait to connect').fill('soon')
    await add.click()
    await page.getByText('Write an http or https address').waitFor()
    expect(await about('Base URL')).toContain('Write an http or https address')
    expect(await about('Name')).toContain('Only up to 64 letters')
    expect(await about('Wait to connect')).toContain('Write a duration')
    await page.getByRole('group', { name: 'Choose the models it serves' }).getByText('at least one').waitFor()
    expect(await page.getByLabel('Base URL').getAttribute('aria-invalid')).toBe('true')
    // The first of them has the focus: it may be far above the button.
    expect(await page.locator(':focus').getAttribute('type')).toBe('url')

    // What only the server can tell.
    await page.getByLabel('Name', { exact: true }).fill('a-name')
    await page.getByLabel('Base URL').fill(upstream.base)
    await page.getByLabel('Wait to connect').fill('5s')
    await page.getByRole('radio', { name: 'All of the catalog' }).check()
    await page.getByLabel('Weight').fill('-1')
    await page.getByLabel('Capabilities').fill('no_such_thing: true')
    await add.click()
    await page.getByText('capabilities.no_such_thing: unknown key').waitFor()
    expect(await about(/^Capabilities/)).toContain('capabilities.no_such_thing: unknown key')
    expect(await about('Weight')).not.toContain('weight: ')
    expect(await page.getByLabel('Weight').getAttribute('aria-invalid')).toBe('true')
    expect(await page.locator('[aria-invalid=true]').count()).toBe(2)
    await page.getByRole('radio', { name: 'Choose', exact: true }).check()
    expect(await page.locator('.channels-picker input[type=checkbox]:not(:checked)').count()).toBe(0)
  })

  test('a vendor that is known needs no address, and gives the channel its name', async () => {
    const page = await open('/new')
    await page.getByRole('radio', { name: 'anthropic' }).check()
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('anthropic')
    expect(await page.getByLabel('Base URL').getAttribute('placeholder')).toBe('https://api.anthropic.com/v1')
    await page.getByText('anthropic speaks Messages.').waitFor()
    await page.getByLabel('API key').fill('sk-ant-of-nobody-0123456789')
    await page.getByRole('button', { name: 'Add channel' }).click()
    await heading(page, 'anthropic').waitFor()
    await page.getByRole('table', { name: 'Models' }).getByRole('link', { name: ADDED }).waitFor()

    await page.getByRole('button', { name: 'Actions for anthropic' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    const confirm = page.getByRole('button', { name: 'Delete channel' })
    expect(await confirm.isDisabled()).toBe(true)
    await page.getByLabel('Type “anthropic” to confirm').fill('anthropic')
    await confirm.click()
    await heading(page, 'Channels').waitFor()
    await page.getByRole('link', { name: /^anthropic/ }).waitFor({ state: 'detached' })
    expect(await channelNow('anthropic')).toBeUndefined()
    expect(await channelNow('added-here')).toBeDefined()
  })

  test('what duet.yaml defines says so and cannot be changed, only tested and paused', async () => {
    const page = await open('/from-file')
    await page.getByText('Change it there, then read the file again.').waitFor()
    expect(await page.locator('.page-header').getByText('duet.yaml').count()).toBe(1)
    expect(await page.getByRole('link', { name: 'Edit' }).count()).toBe(0)
    expect(await page.getByRole('button', { name: /Add key|Remove|Actions/ }).count()).toBe(0)

    await pause(page, FILED)
    expect(await refusalOf(FILED)).toBeGreaterThanOrEqual(400)
    await page.getByRole('button', { name: 'Test', exact: true }).click()
    await page.getByRole('dialog').getByText('Answered').nth(1).waitFor()
    await page.keyboard.press('Escape')
    await toggle(page, 'Resume').click()
    await toggle(page, 'Pause').waitFor()
    expect(await textOf(FILED)).toBe('Good morning')

    await page.goto(`${duet.url}/console/channels/from-file?edit=true`)
    await page.getByText('Defined in duet.yaml').first().waitFor()
    expect(await page.getByRole('button', { name: 'Save' }).count()).toBe(0)
  })

  test('a faulty duet.yaml is refused with all its faults, and read once it is mended', async () => {
    const page = await open()
    const path = join(duet.folder, 'duet.yaml')
    writeFileSync(path, file('    weight: -1\n    nonsense: true\n'))
    await page.getByRole('button', { name: 'Read duet.yaml again' }).click()
    const dialog = page.getByRole('dialog', { name: 'duet.yaml was not taken over' })
    await dialog.getByText('channels[0].weight').waitFor()
    await dialog.getByText('channels[0].nonsense').waitFor()
    writeFileSync(path, file('    weight: 7\n'))
    await dialog.getByRole('button', { name: 'Read duet.yaml again' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page
      .getByRole('row', { name: /from-file/ })
      .getByText('0 · 7')
      .waitFor()
  })

  test('a key that the vendor refuses is named, while the other one answers', async () => {
    const api_keys = [REVOKED_KEY, VENDOR_KEY]
    await duet.admin('POST', '/api/channels', {
      ...{ name: 'two-keys', protocol: 'chat', base_url: upstream.base, api_keys, models: [SHARED] },
    })
    for (let call = 0; call < 3; call++) expect(await textOf(SHARED)).toBe('Good morning')
    const page = await open('/two-keys')
    await page.getByText('1 of its 2 keys is left alone; see below.').waitFor()
    const [refused, good] = await page.getByRole('table', { name: 'Vendor keys' }).locator('tbody tr').all()
    const { keys } = await channelNow('two-keys')
    await refused?.getByText(keys[0].id).waitFor()
    await refused?.getByText(/key refused, tried again at \d\d:\d\d:\d\d/).waitFor()
    await refused?.getByText('refused the credential').waitFor()
    await good?.getByText('Healthy').waitFor()

    // What it is left alone for can be said in the form.
    await page.goto(`${duet.url}/console/channels/two-keys?edit=true`)
    await page.getByText('Advanced').click()
    await page.getByLabel('Failures in a row').fill('often')
    await page.getByLabel('Wait for all of it').fill('10m')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Write a whole number above zero.').waitFor()
    await page.getByLabel('Failures in a row').fill('7')
    await page.getByLabel('Left alone for').fill('2s')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('after 7 failures in a row, for 2 s up to 1 min').waitFor()
    const breaker = { failures: 7, cool_down_ms: 2_000, cool_down_max_ms: 60_000 }
    expect(await channelNow('two-keys')).toMatchObject({ breaker, timeout: { total_ms: 600_000 } })
    await page.getByRole('link', { name: 'Edit' }).click()
    await page.getByText('Advanced').click()
    await page.getByLabel('Leave it alone for a while when it keeps failing').uncheck()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('never, however often it fails').waitFor()
    expect((await channelNow('two-keys')).settings).toMatchObject({ breaker: false, timeout: { total: '10m' } })
  })

  test('one whose upstream fails is shown as down by itself, with the error in full', async () => {
    await duet.admin('POST', '/api/channels', {
      ...{ name: 'on-fire', protocol: 'chat', base_url: refusing.base, api_keys: ['burnt'], models: [FAILING] },
      breaker: { cool_down: '60s' },
    })
    const page = await open()
    const row = page.getByRole('row', { name: /on-fire/ })
    await row.getByText('Unused').waitFor()
    for (let call = 0; call < 6; call++) expect(await refusalOf(FAILING)).toBeGreaterThanOrEqual(500)
    await row.getByText('Down').waitFor()
    await row.getByText('100% failed').waitFor()
    await row.getByText(/left alone until \d\d:\d\d:\d\d/).waitFor()

    await page.getByLabel('Status').selectOption('Down')
    expect(page.url()).toContain('state=down')
    await page.getByRole('row', { name: /added-here/ }).waitFor({ state: 'detached' })
    await row.getByRole('link').click()
    await heading(page, 'on-fire').waitFor()
    await page.getByText(/It (is|was) left alone/).waitFor()
    await page.getByRole('button', { name: 'Test', exact: true }).click()
    const told = await page.getByRole('dialog').locator('.channels-error p').first().innerText()
    await page.keyboard.press('Escape')
    await page.getByText('The test failed').waitFor()
    expect(await page.getByRole('region', { name: 'Asked in Chat Completions' }).innerText()).toContain(told)
    const { last_error } = (await channelNow('on-fire')).health
    expect(last_error).toBeTruthy()
    await page.getByRole('region', { name: 'Last error, in full' }).getByText(last_error, { exact: true }).waitFor()
    await page.goBack()
    await row.waitFor()
    expect(page.url()).toContain('state=down')
  })
})

/** What a screen reader says about a field besides its label. */
async function describedBy(page: Page, label: string | RegExp): Promise<string> {
  const ids = await page.getByLabel(label, { exact: true }).getAttribute('aria-describedby')
  const texts = (ids ?? '').split(' ').map(id => page.locator(`[id="${id}"]`).innerText())
  return (await Promise.all(texts)).join('\n')
}
