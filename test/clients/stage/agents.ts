import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before } from 'node:test'
import { type Agent, type Ran, runAgent } from './agent.ts'
import { type Duet, startDuet } from './duet.ts'
import type { Move } from './frames.ts'
import { type Outside, watchOutside } from './outside.ts'
import { bareEnvironment, newFolder, removeFolder } from './process.ts'
import { startUpstream, type Upstream, type Visit } from './upstream.ts'

export interface AgentStage {
  run(agent: Agent, task: { model: string; prompt: string; key?: string }): Promise<Trial>
}

export interface Trial extends Ran {
  /** What reached the upstream meanwhile. */
  readonly visits: readonly Visit[]
}

/** What the upstream does; it knows where the note is that agents are asked to read. */
export type Script = (visit: Visit, notePath: string) => Move

export const NOTE = 'The word of the day is marzipan.'

/** One Duet for the file, before a scripted upstream, and a project folder with a note in it. */
export function useAgents(script: Script): AgentStage {
  const folder = newFolder()
  const [home, project] = [join(folder, 'home'), join(folder, 'project')]
  const notePath = join(project, 'note.txt')
  let parts: { duet: Duet; upstream: Upstream; outside: Outside } | undefined

  before(async () => {
    for (const each of [home, project]) mkdirSync(each)
    writeFileSync(notePath, `${NOTE}\n`)
    const upstream = await startUpstream(visit => script(visit, notePath))
    parts = { upstream, outside: await watchOutside(), duet: await startDuet(upstream.base) }
  })

  after(async () => {
    await parts?.duet.stop()
    parts?.upstream.stop()
    parts?.outside.stop()
    removeFolder(folder)
  })

  return {
    async run(agent, { model, prompt, key }) {
      if (parts === undefined) throw new Error('Duet has not started')
      const { duet, upstream, outside } = parts
      const task = { url: duet.url, key: key ?? duet.key, model, prompt }
      const ran = await runAgent(agent, task, { folder: project, env: bareEnvironment(home, outside.env) })
      assert.deepEqual(outside.attempts, [])
      return { ...ran, visits: upstream.visits.splice(0) }
    },
  }
}
