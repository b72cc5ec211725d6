import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Agent } from '../stage/agent.ts'
import { answerOf, readNote, testAgent } from '../stage/agent-tests.ts'
import { useAgents } from '../stage/agents.ts'
import { modelOf } from '../stage/duet.ts'
import type { Move } from '../stage/frames.ts'
import { isAskedIn, resultOf, toolsOf, type Visit } from '../stage/upstream.ts'

const CLAUDE_CODE: Agent = {
  name: 'Claude Code',
  program: 'claude',
  command: ({ url, key, model, prompt }) => ({
    args: ['--print', prompt, '--output-format', 'json', '--allowedTools', 'Read'],
    env: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_AUTH_TOKEN: key,
      ANTHROPIC_MODEL: model,
      ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_ERROR_REPORTING: '1',
      DISABLE_TELEMETRY: '1',
    },
  }),
  answer: printed => JSON.parse(printed).result,
}

const LOAD = 'Which of your tools fetches a page?'
const LOADED_TOOL = 'WebFetch'

const stage = useAgents((visit, notePath) => loadTool(visit) ?? readNote(visit, notePath))

testAgent(stage, CLAUDE_CODE)

test('Claude Code: a tool that it loads on demand reaches an upstream that can load none', async () => {
  const trial = await stage.run(CLAUDE_CODE, { model: modelOf('chat'), prompt: LOAD })
  assert.equal(answerOf(CLAUDE_CODE, trial), `It is ${LOADED_TOOL}.`)
  const [before, after] = trial.visits.map(visit => toolsOf(visit).find(({ name }) => name === LOADED_TOOL))
  assert.equal(before, undefined)
  assert.ok(after)
  assert.ok('url' in after.schema.properties)
})

function loadTool(visit: Visit): Move | undefined {
  if (!isAskedIn(visit, LOAD)) return undefined
  const call = { id: 'call_load', tool: 'ToolSearch', input: { query: `select:${LOADED_TOOL}`, max_results: 1 } }
  return resultOf(visit, call.id) === undefined ? call : `It is ${LOADED_TOOL}.`
}

test('Claude Code: an unknown key and an unknown model are said at once, not after minutes of attempts', async () => {
  const hello = { model: modelOf('chat'), prompt: 'Hello' }
  const stranger = await stage.run(CLAUDE_CODE, { ...hello, key: 'sk-duet-unknown' })
  assert.equal(stranger.code, 1)
  assert.equal(JSON.parse(stranger.printed).api_error_status, 401)

  const nowhere = await stage.run(CLAUDE_CODE, { ...hello, model: 'acme/nowhere' })
  assert.equal(nowhere.code, 1)
  assert.match(CLAUDE_CODE.answer(nowhere.printed), /No available channel for model acme\/nowhere/)
})
