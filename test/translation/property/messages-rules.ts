import type { Target } from '../../../src/protocol/protocol.ts'
import type { JsonBody } from '../../support/duet.ts'
import { areUnique, Faults, isBlank, isCount, isObject, isText, sameLists } from './rules.ts'

const TOP = `model max_tokens messages system tools tool_choice thinking output_config temperature top_p top_k
  stop_sequences metadata service_tier stream`.replace(/\s+/g, ' ')

const BLOCKS: { readonly [type: string]: string | undefined } = {
  text: 'type text cache_control',
  image: 'type source cache_control',
  document: 'type source title cache_control',
  tool_use: 'type id name input cache_control',
  tool_result: 'type tool_use_id content is_error cache_control',
  thinking: 'type thinking signature',
  redacted_thinking: 'type data',
}

const CACHE_MARKS_MAX = 4

/** Rules of the dialect that its own vendor enforces with a 400; nothing is found in a request that it would take. */
export function faultsInMessagesRequest(text: string, target: Target): string[] {
  const faults = new Faults()
  const body: JsonBody = JSON.parse(text)
  const { capabilities: can } = target
  faults.check('the body can be written as UTF-8', text.isWellFormed())
  faults.keys('the request', body, TOP)
  faults.check('model is a name', isText(body.model) && body.model !== '')
  faults.check('max_tokens is a count within the limit', isCount(body.max_tokens, target.maxOutputTokens))
  faults.check('stream is a boolean', typeof body.stream === 'boolean')
  checkSampling(faults, body, target)
  checkSwitches(faults, body, target)
  checkTools(faults, body, target)
  checkSystem(faults, body.system)
  checkMessages(faults, body, target)
  const marks = marksIn(body)
  faults.check('there are at most 4 cache marks', marks <= CACHE_MARKS_MAX)
  faults.check('there are cache marks only where they are understood', can.cacheControl || marks === 0)
  return [...faults.found]
}

function checkSampling(faults: Faults, body: JsonBody, { capabilities: can }: Target): void {
  const { temperature, top_p, top_k, thinking } = body
  const isThinking = thinking !== undefined && thinking.type !== 'disabled'
  const hasSampling = [temperature, top_p, top_k].some(value => value !== undefined)
  faults.check('sampling is only for those who take it', can.sampling || !hasSampling)
  faults.check('thinking leaves no room for sampling', !isThinking || !hasSampling)
  faults.check('temperature is within its limit', temperature === undefined || temperature <= can.temperatureMax)
  const isBoth = temperature !== undefined && top_p !== undefined
  faults.check('temperature or top_p, where not both', !can.temperatureXorTopP || !isBoth)
  faults.check('top_k is only for those who take it', can.topK || top_k === undefined)
}

function checkSwitches(faults: Faults, body: JsonBody, { capabilities: can }: Target): void {
  const { stop_sequences: stops, metadata, service_tier, thinking, output_config: config } = body
  if (stops !== undefined) faults.check('stops say something', stops.length > 0 && !stops.some(isBlank))
  if (metadata !== undefined) {
    faults.keys('metadata', metadata, 'user_id')
    faults.check('user_id is short and legal', /^[A-Za-z0-9_-]{1,64}$/.test(metadata.user_id))
  }
  const isKnownTier = service_tier === undefined || ['auto', 'standard_only'].includes(service_tier)
  faults.check('service_tier is one of two, for those who take it', isKnownTier && (can.serviceTier || !service_tier))
  if (config !== undefined) {
    faults.keys('output_config', config, 'effort format')
    const isKnown = config.effort === undefined || ['low', 'medium', 'high', 'xhigh', 'max'].includes(config.effort)
    faults.check('effort is known', isKnown)
    if (config.format) faults.check('a schema is only for those who take it', can.structuredOutput)
  }
  if (thinking === undefined) return
  faults.keys('thinking', thinking, 'type budget_tokens')
  faults.check('thinking is of a known kind', ['enabled', 'disabled', 'adaptive'].includes(thinking.type))
  faults.check('adaptive thinking is only for those who can', thinking.type !== 'adaptive' || can.adaptiveThinking)
  faults.check('thinking is disabled only where it may be', thinking.type !== 'disabled' || can.disableThinking)
  const isBudget = thinking.budget_tokens >= 1024 && thinking.budget_tokens < body.max_tokens
  faults.check('a budget is at least 1024 and below the limit', thinking.type !== 'enabled' || isBudget)
  const isForced = ['any', 'tool'].includes(body.tool_choice?.type)
  faults.check('nobody thinks before a forced call', thinking.type === 'disabled' || !isForced)
}

function checkTools(faults: Faults, body: JsonBody, { capabilities: can }: Target): void {
  const { tools, tool_choice: choice } = body
  faults.check('tools are a list of some', tools === undefined || (can.tools && tools.length > 0))
  const names = (tools ?? []).map(({ name }: JsonBody) => name)
  faults.check('tools differ by name', areUnique(names))
  for (const tool of tools ?? []) {
    faults.keys('a tool', tool, 'name description input_schema strict cache_control')
    faults.check('a tool has a legal name', /^[A-Za-z0-9_-]{1,128}$/.test(tool.name))
    faults.check('a description is a text', tool.description === undefined || isText(tool.description))
    faults.check('a schema is of an object', tool.input_schema?.type === 'object' && isObject(tool.input_schema))
    faults.check('strict is only for those who know it', tool.strict === undefined || can.strictTools)
  }
  if (choice === undefined) return
  faults.check('a choice has tools', names.length > 0)
  faults.check('a choice is known', ['auto', 'any', 'tool', 'none'].includes(choice.type))
  faults.keys('tool_choice', choice, 'type name disable_parallel_tool_use')
  faults.check('a choice names a tool', choice.type === 'tool' ? names.includes(choice.name) : !('name' in choice))
  const isSingle = choice.disable_parallel_tool_use !== undefined
  faults.check('one call at a time, where that may be said', !isSingle || (can.parallelTools && choice.type !== 'none'))
}

function checkSystem(faults: Faults, system: JsonBody): void {
  if (system === undefined) return
  const blocks = isText(system) ? [{ type: 'text', text: system }] : system
  faults.check('the system says something', blocks.length > 0)
  for (const block of blocks) {
    faults.keys('a system block', block, 'type text cache_control')
    faults.check('the system says something in each block', isText(block.text) && !isBlank(block.text))
  }
}

// ── messages ────────────────────────────────────────────────────────────────────────────────────────────────────────

const blocksOf = ({ content }: JsonBody): JsonBody[] =>
  isText(content) ? [{ type: 'text', text: content }] : (content ?? [])

const idsOf = (message: JsonBody, type: string, key: string): string[] =>
  message === undefined ? [] : blocksOf(message).flatMap(block => (block.type === type ? [block[key]] : []))

function checkMessages(faults: Faults, body: JsonBody, { capabilities: can }: Target): void {
  const messages: JsonBody[] = body.messages
  faults.check('there are messages', messages.length > 0)
  faults.check('a user begins', messages[0]?.role === 'user')
  messages.forEach((message, place) => {
    const [before, after] = [messages[place - 1], messages[place + 1]]
    faults.keys('a message', message, 'role content')
    faults.check('roles alternate', before === undefined || before.role !== message.role)
    if (message.role === 'system') {
      const isPlaced = before?.role === 'user' && (after === undefined || after.role === 'assistant')
      faults.check('the system speaks where it may', can.midSystem && isPlaced)
    }
    checkContent(faults, message)
    if (can.repair) checkPairing(faults, message, { before, after })
  })
  const used = messages.flatMap(message => idsOf(message, 'tool_use', 'id'))
  faults.check('ids of calls differ', areUnique(used))
  faults.check('tools are declared where some were used', used.length === 0 || !can.tools || body.tools !== undefined)
  if (can.repair) checkThought(faults, messages, body.thinking)
  checkEnd(faults, messages.at(-1), { thinking: body.thinking, mayPrefill: can.prefill })
}

function checkContent(faults: Faults, message: JsonBody): void {
  const blocks = blocksOf(message)
  faults.check('a message has content', blocks.length > 0)
  let isPastResults = false
  for (const block of blocks) {
    faults.keys(`a block ${block.type}`, block, BLOCKS[block.type] ?? '')
    const isResult = block.type === 'tool_result'
    faults.check('results come first', !isResult || !isPastResults)
    isPastResults ||= !isResult
    checkBlock(faults, block, message.role)
  }
}

function checkBlock(faults: Faults, block: JsonBody, role: string): void {
  const isUsers = ['text', 'image', 'document', 'tool_result'].includes(block.type)
  const isAssistants = ['text', 'tool_use', 'thinking', 'redacted_thinking'].includes(block.type)
  const fits = { user: isUsers, assistant: isAssistants, system: block.type === 'text' }[role] === true
  faults.check(`a ${block.type} belongs to its role`, fits)
  switch (block.type) {
    case 'text':
      faults.check('a text says something', isText(block.text) && !isBlank(block.text))
      break
    case 'tool_use':
      faults.check('ids are legal', /^[A-Za-z0-9_-]+$/.test(block.id))
      faults.check('a used tool has a legal name', /^[A-Za-z0-9_-]{1,128}$/.test(block.name))
      faults.check('an input is an object', isObject(block.input))
      break
    case 'tool_result':
      faults.check('ids are legal', /^[A-Za-z0-9_-]+$/.test(block.tool_use_id))
      for (const part of blocksOf(block)) {
        faults.keys(`a ${part.type} in a result`, part, (BLOCKS[part.type] ?? '').replace(' cache_control', ''))
        faults.check('a text in a result says something', part.type !== 'text' || !isBlank(part.text))
      }
      faults.check('a result has content or none', block.content === undefined || block.content.length > 0)
      break
    case 'thinking':
      faults.check('a thought is signed', isText(block.signature) && block.signature !== '')
  }
}

interface Around {
  readonly before: JsonBody
  readonly after: JsonBody
}

/** Exactly the calls of the message before have results in the message behind, in their order. */
function checkPairing(faults: Faults, message: JsonBody, { before, after }: Around): void {
  const results = idsOf(message, 'tool_result', 'tool_use_id')
  const asked = before?.role === 'assistant' ? idsOf(before, 'tool_use', 'id') : []
  if (message.role === 'user') faults.check('results answer the calls before, in order', sameLists(results, asked))
  if (message.role !== 'assistant') return
  faults.check('calls are answered', idsOf(message, 'tool_use', 'id').length === 0 || after?.role === 'user')
}

/** A turn that goes on after its calls must have begun with a thought, if it is to go on with one. */
function checkThought(faults: Faults, messages: readonly JsonBody[], thinking: JsonBody): void {
  const last = messages.at(-1)
  if (thinking?.type !== 'enabled' || idsOf(last, 'tool_result', 'tool_use_id').length === 0) return
  const caller = messages.findLast(({ role }) => role === 'assistant')
  const [first] = caller ? blocksOf(caller) : []
  const isThought = !caller || ['thinking', 'redacted_thinking'].includes(first?.type)
  faults.check('a thoughtful turn began with a thought', isThought)
}

function checkEnd(
  faults: Faults,
  last: JsonBody,
  { thinking, mayPrefill }: { thinking: JsonBody; mayPrefill: boolean },
) {
  if (last?.role !== 'assistant') return
  const isThinking = thinking !== undefined && thinking.type !== 'disabled'
  faults.check('the assistant ends only where it may go on', mayPrefill && !isThinking)
  const text = blocksOf(last).at(-1)?.text
  faults.check('what goes on does not end in a space', !isText(text) || text === text.trimEnd())
}

function marksIn({ tools, system, messages }: JsonBody): number {
  const lists: JsonBody[] = [...(tools ?? []), ...(isText(system) ? [] : (system ?? [])), ...messages.flatMap(blocksOf)]
  return lists.filter(({ cache_control }) => cache_control !== undefined).length
}
