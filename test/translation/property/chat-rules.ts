import type { Target } from '../../../src/protocol/protocol.ts'
import type { JsonBody } from '../../support/duet.ts'
import { areUnique, Faults, isCount, isObject, isText, sameLists } from './rules.ts'

const TOP = `model messages tools tool_choice parallel_tool_calls response_format reasoning_effort max_tokens
  max_completion_tokens temperature top_p top_k stop user safety_identifier service_tier stream
  stream_options`.replace(/\s+/g, ' ')

const MESSAGES: { readonly [role: string]: string | undefined } = {
  system: 'role content',
  user: 'role content',
  assistant: 'role content reasoning_content tool_calls',
  tool: 'role tool_call_id content',
}

const STOPS_MAX = 4

/** Rules of the dialect that its own vendor enforces with a 400; nothing is found in a request that it would take. */
export function faultsInChatRequest(text: string, target: Target): string[] {
  const faults = new Faults()
  const body: JsonBody = JSON.parse(text)
  faults.check('the body can be written as UTF-8', text.isWellFormed())
  faults.keys('the request', body, TOP)
  faults.check('model is a name', isText(body.model) && body.model !== '')
  checkLimit(faults, body, target)
  checkSampling(faults, body, target)
  checkSwitches(faults, body, target)
  checkTools(faults, body, target)
  checkMessages(faults, body.messages, target)
  return [...faults.found]
}

function checkLimit(faults: Faults, body: JsonBody, { capabilities: can, maxOutputTokens }: Target): void {
  const unused = can.maxTokensField === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens'
  faults.check('there is one name of the limit', body[unused] === undefined)
  const limit = body[can.maxTokensField]
  faults.check('the limit is a count', limit === undefined || isCount(limit, maxOutputTokens))
}

function checkSampling(faults: Faults, body: JsonBody, { capabilities: can }: Target): void {
  const { temperature, top_p, top_k } = body
  const hasSampling = [temperature, top_p, top_k].some(value => value !== undefined)
  faults.check('sampling is only for those who take it', can.sampling || !hasSampling)
  faults.check('temperature is within its limit', temperature === undefined || temperature <= can.temperatureMax)
  const isBoth = temperature !== undefined && top_p !== undefined
  faults.check('temperature or top_p, where not both', !can.temperatureXorTopP || !isBoth)
  faults.check('top_k is only for those who take it', can.topK || top_k === undefined)
}

function checkSwitches(faults: Faults, body: JsonBody, { capabilities: can, reasoning }: Target): void {
  const { stop, user, safety_identifier, stream, stream_options, service_tier, reasoning_effort, response_format } =
    body
  const isStop = stop === undefined || (stop.length > 0 && stop.length <= STOPS_MAX && stop.every(isText))
  faults.check('there are at most 4 stops', isStop)
  const name = user ?? safety_identifier
  faults.check('a user is short and legal', name === undefined || /^[A-Za-z0-9_-]{1,64}$/.test(name))
  faults.check('a user stands where it is looked for', name === undefined || body[can.userField] === name)
  faults.check('stream is a boolean', typeof stream === 'boolean')
  faults.check('only streams have options', stream_options === undefined || (stream && can.streamUsage))
  const isTier = service_tier === undefined || (can.serviceTier && ['auto', 'default'].includes(service_tier))
  faults.check('service_tier is known, for those who take it', isTier)
  const isEffort = reasoning_effort === undefined || (reasoning && can.efforts.includes(reasoning_effort))
  faults.check('effort is one that is known', isEffort)
  if (response_format === undefined) return
  const { type, json_schema: described } = response_format
  faults.keys('response_format', response_format, 'type json_schema')
  faults.check('a format is one that is known', type === 'json_schema' ? can.structuredOutput : can.jsonObject)
  if (type !== 'json_schema') return
  faults.keys('json_schema', described, 'name schema')
  faults.check('a schema has a legal name', /^[A-Za-z0-9_-]{1,64}$/.test(described.name))
}

function checkTools(faults: Faults, body: JsonBody, { capabilities: can }: Target): void {
  const { tools, tool_choice: choice, parallel_tool_calls: parallel } = body
  faults.check('tools are a list of some', tools === undefined || (can.tools && tools.length > 0))
  const names = (tools ?? []).map((tool: JsonBody) => tool.function?.name)
  faults.check('tools differ by name', areUnique(names))
  for (const tool of tools ?? []) {
    faults.keys('a tool', tool, 'type function')
    faults.keys('a function', tool.function, 'name description parameters strict')
    faults.check('a tool has a legal name', /^[A-Za-z0-9_-]{1,64}$/.test(tool.function.name))
    faults.check('a description is a text', !('description' in tool.function) || isText(tool.function.description))
    faults.check('parameters are of an object', tool.function.parameters?.type === 'object')
    faults.check('parameters have properties', isObject(tool.function.parameters?.properties))
    faults.check('strict is only for those who know it', tool.function.strict === undefined || can.strictTools)
  }
  const isParallel = parallel === undefined || (parallel === false && can.parallelTools && names.length > 0)
  faults.check('one call at a time, where that may be said', isParallel)
  if (choice === undefined) return
  faults.check('a choice has tools', names.length > 0)
  const isWord = ['auto', 'none', 'required'].includes(choice)
  faults.check('a choice is a word or a tool', isWord || names.includes(choice.function?.name))
}

// ── messages ────────────────────────────────────────────────────────────────────────────────────────────────────────

function checkMessages(faults: Faults, messages: readonly JsonBody[], target: Target): void {
  const { capabilities: can } = target
  faults.check('there are messages', messages.length > 0)
  messages.forEach((message, place) => {
    faults.keys(`a message of ${message.role}`, message, MESSAGES[message.role] ?? '')
    const isSystem = message.role === 'system'
    faults.check('the system speaks where it may', !isSystem || place === 0 || can.midSystem)
    checkContent(faults, message, target)
    for (const call of message.tool_calls ?? []) checkCall(faults, call)
  })
  const calls = messages.flatMap(({ tool_calls }) => (tool_calls ?? []).map(({ id }: JsonBody) => id))
  faults.check('ids of calls differ', areUnique(calls))
  if (can.repair) checkPairing(faults, messages)
}

function checkContent(faults: Faults, message: JsonBody, { capabilities: can }: Target): void {
  const { role, content, tool_calls } = message
  if (role === 'assistant') {
    faults.check('the assistant says a text, or nothing but calls', isText(content) || (content === null && tool_calls))
    faults.check('calls are some', tool_calls === undefined || tool_calls.length > 0)
    return
  }
  if (isText(content)) return
  faults.check('content is a text or parts', Array.isArray(content) && content.length > 0)
  faults.check('a result is a text, where it must be', role !== 'tool' || can.contentArrayInTool)
  for (const part of content ?? []) {
    const known = { text: 'type text', image_url: 'type image_url', file: 'type file' }[part.type as string]
    faults.keys(`a part ${part.type}`, part, `${known ?? ''}${can.cacheControl ? ' cache_control' : ''}`)
    faults.check('a text part has a text', part.type !== 'text' || isText(part.text))
  }
}

function checkCall(faults: Faults, call: JsonBody): void {
  faults.keys('a call', call, 'id type function')
  faults.check('a call is of a function', call.type === 'function')
  faults.check('ids are short and legal', /^[A-Za-z0-9_-]{1,40}$/.test(call.id))
  faults.check('a called tool has a legal name', /^[A-Za-z0-9_-]{1,64}$/.test(call.function.name))
  faults.check('arguments are JSON', isJson(call.function.arguments))
}

/** Directly behind the calls come exactly their results, in their order. */
function checkPairing(faults: Faults, messages: readonly JsonBody[]): void {
  let at = 0
  while (at < messages.length) {
    const asked = (messages[at]?.tool_calls ?? []).map(({ id }: JsonBody) => id)
    const rest = messages.slice(at + 1)
    const end = rest.findIndex(({ role }) => role !== 'tool')
    const results = messages[at]?.role === 'tool' ? ['of nobody'] : rest.slice(0, end === -1 ? undefined : end)
    const ids = results.map((result: JsonBody) => result.tool_call_id)
    faults.check('results answer the calls before, in order', sameLists(ids, asked))
    at += 1 + results.length
  }
}

function isJson(text: unknown): boolean {
  try {
    JSON.parse(String(text))
    return isText(text)
  } catch {
    return false
  }
}
