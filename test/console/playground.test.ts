import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Locator, Page } from 'playwright-core'
import { describeInBrowser, openConsole } from '../support/browser.ts'
import { type Duet, type JsonBody, startDuet } from '../support/duet.ts'
import { inviteMember, type Person, signInAsOperator } from '../support/people.ts'
import { eventually } from '../support/wire.ts'

/** Its sandbox channel speaks chat, so that messages has to be translated for it. */
const MODEL = 'anthropic/claude-sonnet-4.6'

describeInBrowser('the playground', () => {
  let duet: Duet
  let operator: Person

  beforeAll(async () => {
    duet = await startDuet()
    operator = await signInAsOperator(duet)
  })
  afterAll(() => duet.stop())

  const open = (query: string, as = operator) => openConsole(duet, { path: `/playground?${query}`, as })
  /** The page shows the text of an answer before its end, and there is no receipt before that. */
  const receiptOf = async (id: string): Promise<JsonBody> => {
    const receipt = () => duet.admin('GET', `/api/usage/${id}`)
    return (await eventually(receipt, ({ status }) => status === 200)).body
  }

  test('asks one model through both protocols, and shows what each call cost', async () => {
    const page = await open('protocol=both')
    await ask(page, 'Hello there')
    for (const protocol of ['Chat', 'Messages'] as const) {
      const answer = answerOf(page, protocol)
      await answer.getByText(`You said: "Hello there". This is the sandbox speaking as ${MODEL}`).waitFor()
      const id = await requestIdOf(answer)
      const { tokens, cost, channel, ...receipt } = await receiptOf(id)
      expect(receipt).toMatchObject({ protocol: protocol.toLowerCase(), model: MODEL, status: 'ok', stream: true })
      expect(await figure(answer, 'Input').textContent()).toBe(String(tokens.input))
      expect(await figure(answer, 'Output').textContent()).toBe(String(tokens.output))
      expect(await figure(answer, 'Cost').locator('data').getAttribute('value')).toBe(cost)
      expect(await figure(answer, 'Channel').textContent()).toBe(channel)
      expect(await figure(answer, 'First token').textContent()).toMatch(/\d m?s$/)
    }
  })

  test('shows an answer while it comes, and what it cost although it was stopped', async () => {
    const page = await open('protocol=chat')
    await ask(page, 'Go on for ever [[stall]]')
    const answer = answerOf(page, 'Chat')
    await answer.getByText('You said').waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    await answer.getByText('Stopped').waitFor()
    await page.getByRole('button', { name: 'Send' }).waitFor()
    const cost = figure(answer, 'Cost').locator('data')
    await cost.waitFor()
    const receipt = await receiptOf(await requestIdOf(answer))
    expect(receipt.status).toBe('client_gone')
    expect(await cost.getAttribute('value')).toBe(receipt.cost)
  })

  test('keeps every frame as it came', async () => {
    const page = await open('protocol=both')
    await ask(page, 'Frame by frame')
    for (const protocol of ['Chat', 'Messages'] as const) {
      const answer = answerOf(page, protocol)
      await answer.getByText('You said').waitFor()
      const said = await answer.locator('.playground-text').textContent()
      await answer.getByRole('tab', { name: 'Raw frames' }).click()
      const rows = answer.getByRole('row')
      const frames = await Promise.all((await rows.all()).slice(1).map(row => row.getByRole('cell').allTextContents()))
      expect(frames.length).toBeGreaterThan(10)
      for (const [at, since] of frames) {
        expect(at).toMatch(/^[\d,]+ ms$/)
        expect(since).toMatch(/^\+[\d,]+ ms$/)
      }
      const bodies = frames.map(cells => cells.at(-1) ?? '').filter(data => data !== '[DONE]')
      expect(bodies.map(textIn).join('')).toBe(said ?? '')
      if (protocol === 'Messages') expect(frames[0]?.[2]).toBe('message_start')
    }
  })

  test('shows thoughts folded', async () => {
    const page = await open('model=openai/gpt-5-mini&protocol=messages')
    await page.getByLabel('Reasoning').selectOption('low')
    await page.getByLabel('Max tokens').fill('4000')
    await ask(page, 'Think')
    const answer = answerOf(page, 'Messages')
    await answer.getByText('You said').waitFor()
    const thought = answer.getByText('Let me think about that')
    expect(await thought.isVisible()).toBe(false)
    await answer.getByText('Reasoning', { exact: true }).click()
    expect(await thought.isVisible()).toBe(true)
    const { tokens } = await receiptOf(await requestIdOf(answer))
    expect(await figure(answer, 'of it reasoning').textContent()).toBe(String(tokens.reasoning))
  })

  test('lets somebody answer for the tools that a model calls, with nothing in the way', async () => {
    const page = await open('protocol=both')
    await page.getByRole('button', { name: 'A tool call' }).click()
    await page.getByRole('button', { name: 'Send' }).click()
    for (const protocol of ['Chat', 'Messages'] as const) {
      const call = answerOf(page, protocol).first()
      await call.getByText('get_weather({').waitFor()
      await page.locator('.playground-composer').waitFor()
      expect(await bottomOf(page.locator('.playground-rounds'))).toBeLessThan(
        await topOf(page.locator('.playground-composer')),
      )
      await call.getByLabel('Result of get_weather').fill('It rains cats')
      await call.getByRole('button', { name: 'Send and go on' }).click()
      const answer = answerOf(page, protocol).nth(1)
      await answer.getByText('It rains cats').waitFor()
      await answer.getByRole('tab', { name: 'Request', exact: true }).click()
      const sent = JSON.parse(
        (await answer.getByRole('region', { name: 'The body as it was sent' }).textContent()) ?? '',
      )
      expect(JSON.stringify(sent.messages.at(-1))).toContain('It rains cats')
    }
  })

  test('says beside the field what is wrong with a setting, and sends nothing', async () => {
    const page = await open('protocol=chat')
    await page.getByLabel('Tools', { exact: true }).check()
    await page.getByLabel('Tools as JSON').fill('[{ "description": "nameless" }]')
    await ask(page, 'Hello')
    await page.getByText('Tool 1 has no name.').waitFor()
    await page.locator('textarea[aria-invalid]:focus').waitFor()
    expect(await answerOf(page, 'Chat').count()).toBe(0)
  })

  test('asks for JSON and gets it in both protocols', async () => {
    const page = await open('protocol=both')
    await page.getByLabel('Answer as').selectOption('json')
    await ask(page, 'Name a river')
    for (const protocol of ['Chat', 'Messages'] as const) {
      const answer = answerOf(page, protocol)
      await answer.getByText('Valid JSON').waitFor()
      const said = (await answer.getByRole('region', { name: 'Answer' }).textContent()) ?? ''
      expect(JSON.parse(said)).toHaveProperty('answer')
    }
  })

  test('shows admins what the upstream was sent, and nobody else', async () => {
    const page = await open('protocol=messages')
    await ask(page, 'Translate this')
    const answer = answerOf(page, 'Messages')
    await answer.getByText('You said').waitFor()
    await answer.getByRole('tab', { name: 'Upstream' }).click()
    await answer.getByText('Translated: the upstream speaks Chat.').waitFor()
    const sent = JSON.parse(
      (await answer.getByRole('region', { name: 'What the upstream is sent' }).textContent()) ?? '',
    )
    expect(sent).toMatchObject({ model: MODEL, messages: [{ role: 'user', content: 'Translate this' }], stream: true })
    expect(sent).not.toHaveProperty('system')

    await page.getByRole('radio', { name: 'Chat' }).check()
    await ask(page, 'Pass this on')
    const passed = answerOf(page, 'Chat')
    await passed.getByText('You said').waitFor()
    await passed.getByRole('tab', { name: 'Upstream' }).click()
    const edited = passed.getByRole('list', { name: 'Edited fields' }).getByRole('listitem')
    await edited.first().waitFor()
    const edits = await edited.allTextContents()
    expect(edits.join()).toMatch(/^([a-z_]+ (added|changed|removed),?)+$/)

    const member = await memberWith('curious', '5')
    const theirs = await open('protocol=messages', member)
    await ask(theirs, 'Translate this')
    await answerOf(theirs, 'Messages').getByText('You said').waitFor()
    expect(await theirs.getByRole('tab', { name: 'Upstream' }).count()).toBe(0)
    await figure(answerOf(theirs, 'Messages'), 'Cost').locator('data').waitFor()
    expect(await figure(answerOf(theirs, 'Messages'), 'Channel').count()).toBe(0)
    const { account } = await receiptOf(await requestIdOf(answerOf(theirs, 'Messages')))
    expect(account).toBe(member.session.account.id)
  })

  test('gives a curl that does the same, without the secret', async () => {
    const page = await open('protocol=both')
    await page.getByLabel('Stream the answer').uncheck()
    await ask(page, 'It’s "quoted" and \'quoted\' $HOME')
    for (const protocol of ['Chat', 'Messages'] as const) {
      const answer = answerOf(page, protocol)
      await answer.getByText('You said').waitFor()
      const said = (await answer.locator('.playground-text').textContent()) ?? ''
      await answer.getByRole('tab', { name: 'curl' }).click()
      const command = (await answer.getByRole('region', { name: 'curl' }).textContent()) ?? ''
      expect(command).not.toContain('sk-duet-')
      const ran = Bun.spawnSync(['sh', '-c', `${command} -s`], {
        env: { DUET_KEY: duet.key, PATH: process.env.PATH ?? '' },
      })
      expect(textIn(ran.stdout.toString())).toBe(said)
    }
    const kept = await page.evaluate<string>('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])')
    expect(kept + page.url() + (await page.content())).not.toContain('sk-duet-')
  })

  test('remembers what was said, and asks anew from an edited question on', async () => {
    const page = await open('protocol=chat')
    await page.getByLabel('System prompt').fill('Speak like a pirate')
    await ask(page, 'First')
    await answerOf(page, 'Chat').getByText('You said: "First"').waitFor()
    await ask(page, 'Second')
    await answerOf(page, 'Chat').nth(1).getByText('You said: "Second"').waitFor()
    const contents = async (answer: Locator) => {
      await answer.getByRole('tab', { name: 'Request', exact: true }).click()
      const sent = JSON.parse(
        (await answer.getByRole('region', { name: 'The body as it was sent' }).textContent()) ?? '',
      )
      return sent.messages.map(({ role, content }: JsonBody) => `${role}: ${content.slice(0, 20)}`)
    }
    const before = ['system: Speak like a pirate', 'user: First', 'assistant: You said: "First". T'].map(line =>
      line.replace(/: (.{20}).*/, ': $1'),
    )
    expect(await contents(answerOf(page, 'Chat').nth(1))).toEqual([...before, 'user: Second'])

    await page.getByRole('button', { name: 'Edit and ask again' }).first().click()
    await page.getByLabel('Prompt', { exact: true }).first().fill('Other')
    await page.getByRole('button', { name: 'Ask again from here' }).click()
    await answerOf(page, 'Chat').getByText('You said: "Other"').waitFor()
    expect(await answerOf(page, 'Chat').count()).toBe(1)
    const first = await requestIdOf(answerOf(page, 'Chat'))
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('link', { name: first }).waitFor({ state: 'detached' })
    await answerOf(page, 'Chat').getByText('You said: "Other"').waitFor()
  })

  test('is there again after a look at the request', async () => {
    const page = await open('protocol=messages')
    await ask(page, 'Remember me')
    const answer = answerOf(page, 'Messages')
    await answer.getByText('You said: "Remember me"').waitFor()
    const id = await requestIdOf(answer)
    await answer.getByRole('link', { name: id }).click()
    await page.waitForURL(`**/console/requests/${id}`)
    await page.goBack()
    await answer.getByText('You said: "Remember me"').waitFor()
  })

  test('keeps its settings over a reload, begins with a model that is served, and forgets all with the session', async () => {
    const person = await signInAsOperator(duet)
    const page = await open('', person)
    const model = page.getByLabel('Model', { exact: true })
    await model.waitFor()
    expect(await model.inputValue()).toBe(MODEL)
    // Here the sandbox serves everything; with real channels it is seldom so.
    await page.evaluate('sessionStorage.clear()')
    await page.route('**/api/models', async route => {
      const answer = await route.fetch()
      const { data, ...rest }: JsonBody = await answer.json()
      const thinned = data.map((view: JsonBody) => (view.id === MODEL ? { ...view, channels: [] } : view))
      await route.fulfill({ response: answer, json: { data: thinned, ...rest } })
    })
    await page.reload()
    await model.getByText(`${MODEL} (nobody serves it)`).waitFor({ state: 'attached' })
    expect(await model.inputValue()).not.toBe(MODEL)
    await model.selectOption('openai/gpt-4.1')
    await page.getByRole('radio', { name: 'Messages' }).check()
    await page.getByLabel('System prompt').fill('Be brief')
    await page.goto(`${duet.url}/console/playground`)
    await model.waitFor()
    expect(await page.getByLabel('System prompt').inputValue()).toBe('Be brief')
    expect(await model.inputValue()).toBe('openai/gpt-4.1')
    expect(await page.getByRole('radio', { name: 'Messages' }).isChecked()).toBe(true)
    await person.call('DELETE', '/api/session')
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(await page.evaluate<string>('JSON.stringify({ ...sessionStorage })')).not.toContain('Be brief')
  })

  test('takes another key when its own is gone, without a word', async () => {
    const page = await open('protocol=chat')
    const made: string[] = []
    page.on('response', async response => {
      if (response.url().endsWith('/api/playground/key')) made.push((await response.json()).id)
    })
    await ask(page, 'One')
    await answerOf(page, 'Chat').getByText('You said: "One"').waitFor()
    await ask(page, 'Two')
    await answerOf(page, 'Chat').nth(1).getByText('You said: "Two"').waitFor()
    expect(made).toHaveLength(1)
    await duet.admin('DELETE', `/api/keys/${made[0]}`)
    await ask(page, 'Three')
    await answerOf(page, 'Chat').nth(2).getByText('You said: "Three"').waitFor()
    expect(made).toHaveLength(2)
  })

  test('tells an empty account from anything else, and what helps', async () => {
    const page = await open('protocol=messages', await inviteMember(duet, 'broke'))
    await ask(page, 'Hello')
    const answer = answerOf(page, 'Messages')
    await answer.getByText('Refused with 403').waitFor()
    const help = answer.locator('.note').filter({ hasText: 'No money on the account yet' })
    await help.getByText('insufficient_user_quota').waitFor()
    expect(await help.getByRole('link', { name: 'Redeem a code' }).getAttribute('href')).toBe(
      '/console/billing?redeem=true',
    )
  })

  test('shows an upstream’s failure in full, with the words that came before it', async () => {
    const page = await open('protocol=chat')
    await ask(page, '[[cut 5]] Hello')
    const answer = answerOf(page, 'Chat')
    await answer.getByText('You said').waitFor()
    await answer.getByText(/The connection to the upstream failed/).waitFor()
    await answer.getByText('upstream_error').waitFor()
  })

  test('fills in what a link says', async () => {
    const shared = new URLSearchParams({ prompt: 'Shared words', system: 'Be kind', output: 'json' })
    const page = await open(`model=openai/gpt-4.1&protocol=messages#${shared}`)
    await page.getByRole('radio', { name: 'Messages' }).waitFor()
    expect(await page.getByRole('radio', { name: 'Messages' }).isChecked()).toBe(true)
    expect(await page.getByLabel('Model').inputValue()).toBe('openai/gpt-4.1')
    expect(await page.getByLabel('Prompt', { exact: true }).inputValue()).toBe('Shared words')
    expect(await page.getByLabel('System prompt').inputValue()).toBe('Be kind')
    expect(await page.getByLabel('Answer as').inputValue()).toBe('json')
    await page.getByRole('radio', { name: 'Side by side' }).check()
    await page.getByLabel('Model, right').selectOption('google/gemini-2.5-flash')
    await page.reload()
    expect(await page.getByLabel('Model, left').inputValue()).toBe('openai/gpt-4.1')
    expect(await page.getByLabel('Model, right').inputValue()).toBe('google/gemini-2.5-flash')
  })

  const memberWith = async (name: string, amount: string): Promise<Person> => {
    const member = await inviteMember(duet, name)
    await duet.admin('POST', `/api/accounts/${member.session.account.id}/topups`, { amount })
    return member
  }
})

const ask = async (page: Page, text: string): Promise<void> => {
  await page.getByLabel('Prompt', { exact: true }).fill(text)
  await page.keyboard.press('Control+Enter')
}

const answerOf = (page: Page, protocol: 'Chat' | 'Messages'): Locator =>
  page.getByRole('article', { name: new RegExp(`, ${protocol}$`) })

const topOf = async (element: Locator) => (await element.boundingBox())?.y ?? Number.NaN

const bottomOf = async (element: Locator) =>
  (await topOf(element)) + ((await element.boundingBox())?.height ?? Number.NaN)

/** A value under an answer, by its name. */
const figure = (answer: Locator, name: string): Locator =>
  answer
    .locator('.playground-figures > div')
    .filter({ has: answer.page().getByText(name, { exact: true }) })
    .locator('dd')

async function requestIdOf(answer: Locator): Promise<string> {
  return (await figure(answer, 'Request').textContent()) ?? ''
}

/** What a frame or a whole body of either protocol says. */
function textIn(data: string): string {
  const { choices, delta, content }: JsonBody = JSON.parse(data)
  const [choice] = choices ?? []
  return choice?.delta?.content ?? choice?.message?.content ?? delta?.text ?? content?.[0]?.text ?? ''
}
