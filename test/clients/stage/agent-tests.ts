import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Agent, Ran } from './agent.ts'
import { type AgentStage, NOTE, type Script } from './agents.ts'
import { modelOf, PROTOCOLS, type Protocol } from './duet.ts'
import { eachUpstream } from './stage.ts'
import { isAskedIn, type OfferedTool, resultOf, toolsOf } from './upstream.ts'

const GREET = 'Wish me a good morning.'
const GREETING = 'Good morning, says the upstream.'
const READ = 'What does note.txt say?'

const CALL_IDS: Record<Protocol, string> = { chat: 'call_note', messages: 'toolu_note' }

/**
 * Has the note read once it is asked about and a tool for it is on offer, with the path where the tool's schema wants it;
 * then says what the tool returned.
 */
export const readNote: Script = (visit, notePath) => {
  const id = CALL_IDS[visit.protocol]
  const result = resultOf(visit, id)
  if (result !== undefined) return `The note says: ${result}`

  const reader = toolsOf(visit).find(({ name }) => /^read$/i.test(name))
  const field = Object.keys(reader?.schema.properties ?? {}).find(name => /^file_?path$/i.test(name))
  const asked = isAskedIn(visit, READ) && reader !== undefined && field !== undefined
  return asked ? { id, tool: reader.name, input: { [field]: notePath } } : GREETING
}

/** What every agent must manage, whatever the upstream speaks. */
export function testAgent(stage: AgentStage, agent: Agent): void {
  test(`${agent.name}: completes a text turn, and the upstream sees the same tools in either protocol`, async () => {
    const offers: OfferedTool[][] = []
    for (const upstream of PROTOCOLS) {
      const trial = await stage.run(agent, { model: modelOf(upstream), prompt: GREET })
      assert.equal(answerOf(agent, trial), GREETING)
      // A side request, for a title, offers none.
      offers.push(trial.visits.map(toolsOf).find(tools => tools.length > 0) ?? [])
    }
    assertSameTools(offers)
  })

  eachUpstream(`${agent.name}: completes a round trip with a tool`, async upstream => {
    const trial = await stage.run(agent, { model: modelOf(upstream), prompt: READ })
    assert.match(answerOf(agent, trial), new RegExp(`^The note says: .*${NOTE}`, 's'))
    const last = trial.visits.at(-1)
    assert.ok(last)
    assert.equal(last.protocol, upstream)
    assert.match(resultOf(last, CALL_IDS[upstream]) ?? '', new RegExp(NOTE))
  })
}

export function answerOf(agent: Agent, { code, printed, errors }: Ran): string {
  assert.equal(code, 0, `${agent.name} ended with ${code}:\n${printed}\n${errors}`)
  return agent.answer(printed)
}

/** Names first: a difference between whole lists of an agent's tools is pages long. */
function assertSameTools([one = [], other = []]: readonly OfferedTool[][]): void {
  const names = one.map(({ name }) => name)
  assert.ok(names.length > 0)
  assert.deepEqual(
    names,
    other.map(({ name }) => name),
  )
  for (const [place, tool] of one.entries()) assert.deepEqual(tool, other[place])
}
