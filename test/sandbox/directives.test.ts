import { describe, expect, test } from 'bun:test'
import { sendFrames } from '../../src/sandbox/delivery.ts'
import { tokensOf } from '../../src/sandbox/tokens.ts'
import { ask, deltasOf, PROTOCOLS, post, postJson, rawPost, say, streamText, tools, useSandbox } from './support.ts'

const sandbox = useSandbox()

const LENGTH = { chat: 'length', messages: 'max_tokens' }
const END = { chat: 'stop', messages: 'end_turn' }

const ERROR_TYPES = [
  { status: 400, chat: 'invalid_request_error', messages: 'invalid_request_error' },
  { status: 401, chat: 'invalid_request_error', messages: 'authentication_error' },
  { status: 403, chat: 'request_forbidden', messages: 'permission_error' },
  { status: 404, chat: 'invalid_request_error', messages: 'not_found_error' },
  { status: 429, chat: 'requests', messages: 'rate_limit_error' },
  { status: 500, chat: 'server_error', messages: 'api_error' },
  { status: 503, chat: 'server_error', messages: 'api_error' },
  { status: 529, chat: 'server_error', messages: 'overloaded_error' },
]

for (const protocol of PROTOCOLS) {
  const streamed = (user: string) => ({ ...ask(protocol, { user }), stream: true })

  describe(protocol, () => {
    for (const row of ERROR_TYPES) {
      test(`[[error ${row.status}]] is that status with a native body, stream or not`, async () => {
        for (const stream of [false, true]) {
          const request = { ...ask(protocol, { user: `Oh [[error ${row.status}]] no` }), stream }
          const { status, headers, body } = await postJson(sandbox.url, protocol, request)
          expect(status).toBe(row.status)
          expect(body.error).toMatchObject({ type: row[protocol], message: expect.any(String) })
          expect(headers.get('content-type')).toStartWith('application/json')
          expect(headers.get('retry-after')).toBe(row.status === 429 ? '1' : null)
        }
      })
    }

    test('[[delay]] waits before the answer, an error included', async () => {
      for (const [user, least] of [
        ['[[delay 80ms]] hi', 80],
        ['[[delay 0.1s]] [[error 500]]', 100],
      ] as const) {
        const started = performance.now()
        await post(sandbox.url, protocol, streamed(user))
        expect(performance.now() - started).toBeGreaterThanOrEqual(least - 2)
      }
    })

    test('[[cut 5]] resets the connection of a stream after five deltas', async () => {
      const { text, ending } = await rawPost(sandbox.url, protocol, streamed('[[cut 5]] hi'))
      expect(deltasOf(text, protocol)).toHaveLength(5)
      expect(text).not.toContain('\r\n0\r\n')
      expect(ending).toBe('ECONNRESET')
    })

    test('[[cut 5]] counts fragments of arguments as well', async () => {
      const schema = { type: 'object', properties: { city: { type: 'string', minLength: 99 } }, required: ['city'] }
      const request = { ...streamed('[[cut 5]] weather'), ...tools(protocol, { name: 'weather', schema }) }
      const { text, ending } = await rawPost(sandbox.url, protocol, request)
      expect(deltasOf(text, protocol)).toHaveLength(5)
      expect(text).toContain('weather')
      expect(ending).toBe('ECONNRESET')
    })

    test('[[cut 999]] cuts a shorter answer before it says that it is complete', async () => {
      const { text, ending } = await rawPost(sandbox.url, protocol, streamed('[[cut 999]] hi'))
      expect(text).not.toContain('"finish_reason":"stop"')
      expect(text).not.toContain('message_delta')
      expect(ending).toBe('ECONNRESET')
    })

    test('[[cut 0]] sends the head of the answer and nothing else', async () => {
      const { text, ending } = await rawPost(sandbox.url, protocol, streamed('[[cut 0]] hi'))
      expect(text).toStartWith('HTTP/1.1 200')
      expect(text).not.toContain('data:')
      expect(ending).toBe('ECONNRESET')
    })

    test('[[cut 5]] sends half of a body and drops the connection', async () => {
      const { text, ending } = await rawPost(sandbox.url, protocol, ask(protocol, { user: '[[cut 5]] hi' }))
      expect(text).toStartWith('HTTP/1.1 200')
      expect(text).toContain('"model":"acme/swift"')
      expect(text).not.toContain('"usage"')
      expect(ending).toBe('ECONNRESET')
    })

    test('[[tokens 500]] is an answer of exactly 500 tokens', async () => {
      for (const count of [1, 7, 500]) {
        const seen = await say(sandbox.url, protocol, { user: `Go on [[tokens ${count}]]` })
        expect(seen.outputTokens).toBe(count)
        expect(seen.stop).toBe(END[protocol])
        expect(tokensOf(seen.text)).toHaveLength(count)
      }
      const deltas = deltasOf(await streamText(sandbox.url, protocol, { user: '[[tokens 500]]' }), protocol)
      expect(deltas).toHaveLength(500)
    })

    test('[[tokens 500]] is still capped by max_tokens', async () => {
      const seen = await say(sandbox.url, protocol, { user: '[[tokens 500]]', more: { max_tokens: 40 } })
      expect(seen.outputTokens).toBe(40)
      expect(seen.stop).toBe(LENGTH[protocol])
    })

    test('[[tokens 500]] leaves JSON valid and reasoning apart', async () => {
      const system = 'Reply with one JSON object.'
      const seen = await say(sandbox.url, protocol, { user: 'Hi [[tokens 500]]', system, model: 'acme/think' })
      expect(JSON.parse(seen.text).question).toBe('Hi')
      expect(tokensOf(seen.text)).toHaveLength(500)
      expect(seen.outputTokens).toBeGreaterThan(700)
    })

    test('[[garbage]] answers 200 with a body that is not JSON', async () => {
      const response = await post(sandbox.url, protocol, ask(protocol, { user: '[[garbage]]' }))
      expect(response.status).toBe(200)
      const text = await response.text()
      expect(() => JSON.parse(text)).toThrow()
    })

    test('[[garbage]] breaks a stream after two good deltas', async () => {
      const text = await streamText(sandbox.url, protocol, { user: '[[garbage]] hi' })
      const frames = text.trimEnd().split('\n\n')
      const broken = frames.pop() ?? ''
      expect(deltasOf(`${frames.join('\n\n')}\n\n`, protocol)).toHaveLength(2)
      expect(broken).toContain('data: {')
      expect(() => JSON.parse(broken.slice(broken.indexOf('{')))).toThrow()
    })

    test('[[stall]] falls silent after a few deltas until the client leaves', async () => {
      const leave = new AbortController()
      const response = await post(sandbox.url, protocol, streamed('[[stall]] hi'), { signal: leave.signal })
      const reader = response.body?.getReader()
      let text = ''
      while (deltasOf(text, protocol).length < 3) {
        const { value, done = true } = (await reader?.read()) ?? {}
        expect(done).toBe(false)
        text += new TextDecoder().decode(value)
      }
      expect(await Promise.race([reader?.read(), Bun.sleep(60)])).toBeUndefined()
      expect(deltasOf(text, protocol)).toHaveLength(3)
      leave.abort()
    })

    test('[[stall]] never answers a request without a stream', async () => {
      const request = ask(protocol, { user: '[[stall]] hi' })
      const answer = post(sandbox.url, protocol, request, { signal: AbortSignal.timeout(60) })
      expect(
        await answer.then(
          () => 'answered',
          error => error.name,
        ),
      ).toBe('TimeoutError')
    })

    test('[[no-usage]] leaves usage out everywhere', async () => {
      const request = ask(protocol, { user: '[[no-usage]] hi', model: 'acme/think' })
      for (const more of [{}, { stream: true }, ...(protocol === 'chat' ? [withUsage()] : [])]) {
        const text = await (await post(sandbox.url, protocol, { ...request, ...more })).text()
        expect(text).toContain(protocol === 'chat' ? '"stop"' : '"end_turn"')
        expect(text).not.toContain('usage"')
        expect(text).not.toContain('_tokens"')
      }
    })

    test('directives are not part of what the answer reflects, and can be combined', async () => {
      const seen = await say(sandbox.url, protocol, { user: 'Hello [[delay 1ms]] [[tokens 30]]there[[DELAY 1ms]]' })
      expect(seen.text).toContain('You said: "Hello there"')
      expect(seen.outputTokens).toBe(30)
    })

    test('what is no directive stays in the text', async () => {
      const user = '[[wiki]] [[error]] [[error 200]] [[cut]] [[delay 5]] [[constructor]] [[tokens 0]]'
      expect((await say(sandbox.url, protocol, { user })).text).toContain(user)
    })

    test('only the last user message is searched', async () => {
      const messages = [
        { role: 'user', content: '[[error 500]]' },
        { role: 'assistant', content: '[[error 500]]' },
        { role: 'user', content: 'Better now?' },
      ]
      expect((await say(sandbox.url, protocol, { user: '', more: { messages } })).text).toContain('Better now?')
    })
  })
}

test('a client that leaves ends the work on its stream, and a client that does not read slows it down', async () => {
  let written = 0
  let released = false
  function* frames() {
    try {
      while (written < 10_000_000) yield { kind: 'delta' as const, text: `data: ${written++}\n\n` }
    } finally {
      released = true
    }
  }
  const signal = new AbortController().signal
  const response = sendFrames(frames(), { headers: {}, interruption: undefined, signal })
  const reader = response.body?.getReader()
  await reader?.read()
  await reader?.read()
  await Bun.sleep(5)
  expect(written).toBeLessThanOrEqual(3)

  await reader?.cancel()
  expect(released).toBe(true)
})

test('clients that leave in the middle of anything do not disturb the others', async () => {
  for (const user of ['[[tokens 100000]]', '[[stall]]', '[[delay 60s]]']) {
    for (const stream of [true, false]) {
      const body = { ...ask('chat', { user }), stream }
      const answer = post(sandbox.url, 'chat', body, { signal: AbortSignal.timeout(15) })
      await answer.then(response => response.text()).catch(() => undefined)
    }
  }
  expect((await say(sandbox.url, 'chat', { user: 'Still there?' })).text).toContain('Still there?')
})

test('failures on demand leave the console quiet, and stopping does not wait for stalled clients', async () => {
  const script = `
    import { startSandbox } from '${new URL('../../src/sandbox/sandbox.ts', import.meta.url).pathname}'
    const sandbox = startSandbox({ reasons: () => false })
    const ask = (content, stream) => fetch(sandbox.url + '/chat/completions', {
      method: 'POST', body: JSON.stringify({ model: 'm', stream, messages: [{ role: 'user', content }] }),
    }).then(response => response.text()).catch(() => undefined)
    for (const user of ['[[cut 2]]', '[[garbage]]', '[[error 500]]']) for (const stream of [true, false]) await ask(user, stream)
    const stalled = [ask('[[stall]]', true), ask('[[stall]]', false), ask('[[delay 9m]]', false)]
    await Bun.sleep(20)
    await sandbox.stop()
    await Promise.all(stalled)
    console.log('stopped')
  `
  const child = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe', stderr: 'pipe' })
  expect(await new Response(child.stderr).text()).toBe('')
  expect(await new Response(child.stdout).text()).toBe('stopped\n')
  expect(await child.exited).toBe(0)
})

function withUsage() {
  return { stream: true, stream_options: { include_usage: true } }
}
