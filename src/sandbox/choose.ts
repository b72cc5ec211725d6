import type { Prompt, Tool } from './prompt.ts'
import { subjectWords } from './words.ts'

/** More calls at once than this are no better test of a client. */
const PARALLEL_CALLS_MAX = 4

/** Where a question comes with a long document, it mostly stands at the end. */
const SUBJECT_LENGTH_MAX = 20_000

/** The tools that this turn calls: those demanded, else those the question speaks of. */
export function chooseTools(prompt: Prompt): readonly Tool[] {
  const { tools, toolChoice } = prompt
  switch (toolChoice.type) {
    case 'none':
      return []
    case 'tool':
      return tools.filter(tool => tool.name === toolChoice.name).slice(0, 1)
    case 'any': {
      const fresh = unanswered(prompt)
      return orFirst(toolsSpokenOf({ ...prompt, tools: fresh }), fresh)
    }
    case 'auto':
      return prompt.ending === 'question' ? toolsSpokenOf(prompt) : []
  }
}

/** A model that must go on calling gets ahead: it takes a tool that has not just answered, if there is one. */
function unanswered({ tools, results }: Prompt): readonly Tool[] {
  const fresh = tools.filter(tool => !results.some(({ name }) => name === tool.name))
  return fresh.length > 0 ? fresh : tools
}

function toolsSpokenOf({ question, tools, parallelCalls }: Prompt): readonly Tool[] {
  const asked = subjectWords(question.slice(-SUBJECT_LENGTH_MAX))
  const named = tools.filter(tool => isNamed(tool, asked)).slice(0, PARALLEL_CALLS_MAX)
  return parallelCalls && named.length > 1 ? named : bestMatch(tools, asked)
}

function isNamed(tool: Tool, asked: ReadonlySet<string>): boolean {
  const words = subjectWords(tool.name)
  return words.size > 0 && words.isSubsetOf(asked)
}

function bestMatch(tools: readonly Tool[], asked: ReadonlySet<string>): readonly Tool[] {
  const overlaps = tools.map(tool => subjectWords(`${tool.name} ${tool.description}`).intersection(asked).size)
  const best = overlaps.reduce((most, overlap) => Math.max(most, overlap), 0)
  const at = overlaps.indexOf(best)
  return best === 0 ? [] : tools.slice(at, at + 1)
}

function orFirst(chosen: readonly Tool[], tools: readonly Tool[]): readonly Tool[] {
  return chosen.length > 0 ? chosen : tools.slice(0, 1)
}
