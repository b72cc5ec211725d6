import type { JsonBody } from '../../support/duet.ts'
import type { Random } from './cases.ts'
import { type Fairness, type Step, type StepResult, someConversation, TOOL_NAMES } from './conversation.ts'

const MARK = { cache_control: { type: 'ephemeral' } }
const IMAGE = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } }
const DOCUMENT = { type: 'document', title: 'notes', source: { type: 'text', media_type: 'text/plain', data: 'All.' } }

/** The text of a messages request, for its inputs must stay as they are; a fair one could be sent to any server. */
export function someMessagesRequest(random: Random, { isFair }: Fairness): string {
  const inputs = new Map<string, string>()
  const steps = someConversation(random, { isFair, hasUniqueIds: isFair })
  const messages = steps.flatMap(step => messagesOf(random, step, { isFair, inputs }))
  const all = messages.length > 0 ? messages : [{ role: 'user', content: 'Hello' }]
  const body = {
    ...{ model: 'm', max_tokens: random.pick([1, 100, 2000, 100_000]), messages: isFair ? merged(all) : all },
    ...(random.chance(0.5) ? { system: someSystem(random, isFair) } : {}),
    ...someTools(random),
    ...someSwitches(random),
  }
  return JSON.stringify(body).replace(/"raw input \d+"/g, place => inputs.get(place) ?? '{}')
}

interface Placed extends Fairness {
  /** Texts of inputs, by what stands for them until the request is written. */
  readonly inputs: Map<string, string>
}

/** Roles alternate where the conversation is fair. */
function merged(messages: readonly JsonBody[]): JsonBody[] {
  const all: JsonBody[] = []
  for (const { role, content } of messages) {
    const last = all.at(-1)
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content
    if (last?.role === role) last.content.push(...blocks)
    else all.push({ role, content: [...blocks] })
  }
  return all
}

function messagesOf(random: Random, step: Step, placed: Placed): JsonBody[] {
  const { isFair } = placed
  switch (step.type) {
    case 'user':
      return [{ role: 'user', content: content(random, step.texts, isFair) }]
    case 'system':
      return isFair ? [] : [{ role: 'system', content: content(random, step.texts, true) }]
    case 'assistant-text':
      return [{ role: 'assistant', content: content(random, step.texts, isFair) }]
    case 'thought':
      return isFair ? [] : [{ role: 'assistant', content: [someThought(random, step.texts.join(''))] }]
    case 'calls':
      return [{ role: 'assistant', content: [...texts(random, step.texts, isFair), ...uses(random, step, placed)] }]
    case 'results': {
      const results = step.results.map(result => resultOf(random, result, isFair))
      const rest = texts(random, step.texts, isFair)
      const isFirst = isFair || random.chance(0.8)
      return [{ role: 'user', content: isFirst ? [...results, ...rest] : [...rest, ...results] }]
    }
  }
}

function uses(random: Random, { calls }: Extract<Step, { type: 'calls' }>, { inputs, isFair }: Placed): JsonBody[] {
  return calls.map(({ id, name, arguments: made }) => {
    const place = `"raw input ${inputs.size}"`
    inputs.set(place, isObjectText(made) ? made : '{}')
    const mark = !isFair && random.chance(0.1) ? MARK : {}
    return { type: 'tool_use', id, name, input: JSON.parse(place), ...mark }
  })
}

function isObjectText(text: string): boolean {
  try {
    return JSON.parse(text)?.constructor === Object
  } catch {
    return false
  }
}

function content(random: Random, said: readonly string[], isFair: boolean): JsonBody {
  return said.length === 1 && random.chance(0.6) ? said[0] : texts(random, said, isFair)
}

function texts(random: Random, said: readonly string[], isFair: boolean): JsonBody[] {
  const blocks = said.map(text => ({ type: 'text', text, ...(!isFair && random.chance(0.2) ? MARK : {}) }))
  return isFair || !random.chance(0.1) ? blocks : [...blocks, random.pick<JsonBody>([IMAGE, DOCUMENT, { type: 'odd' }])]
}

const someThought = (random: Random, thinking: string): JsonBody =>
  random.pick<JsonBody>([
    { type: 'thinking', thinking, signature: '' },
    { type: 'thinking', thinking },
    { type: 'thinking', thinking, signature: 'c2lnbmVk' },
    { type: 'redacted_thinking', data: 'sealed' },
  ])

function resultOf(random: Random, { id, texts: said, isError }: StepResult, isFair: boolean): JsonBody {
  const given = said.length === 0 ? random.pick([undefined, [], '']) : content(random, said, isFair)
  return {
    ...{ type: 'tool_result', tool_use_id: id },
    ...(given === undefined ? {} : { content: given }),
    ...(isError ? { is_error: true } : {}),
    ...(!isFair && random.chance(0.1) ? MARK : {}),
  }
}

function someSystem(random: Random, isFair: boolean): JsonBody {
  const said = [random.pick(['Be brief.', 'Be kind.\n'])]
  return random.chance(0.5) ? said[0] : texts(random, isFair ? said : [...said, '', ' '], true)
}

function someTools(random: Random): JsonBody {
  if (random.chance(0.2)) return random.chance(0.5) ? {} : { tools: [] }
  const own = TOOL_NAMES.filter(() => random.chance(0.6)).map(name => ({
    name,
    ...random.pick<JsonBody>([{}, { description: 'Does it.' }]),
    input_schema: random.pick<JsonBody>([{}, { type: 'object', properties: { a: {} } }, { type: 'object' }]),
    ...random.pick<JsonBody>([{}, { type: 'custom' }, { strict: true }, { defer_loading: true }, MARK]),
  }))
  const vendors = random.chance(0.2) ? [{ type: 'web_search_20250305', name: 'web_search' }] : []
  const known = random.chance(0.2) ? [{ type: 'bash_20250124', name: 'bash' }] : []
  const [first] = own
  const named = first ? [{ type: 'tool', name: first.name }] : []
  const choice = random.pick<JsonBody>([undefined, { type: 'auto' }, { type: 'none' }, { type: 'any' }, ...named])
  const single = random.chance(0.3) ? { disable_parallel_tool_use: true } : {}
  return {
    tools: [...own, ...vendors, ...known],
    ...(choice === undefined ? {} : { tool_choice: { ...choice, ...(choice.type === 'none' ? {} : single) } }),
  }
}

function someSwitches(random: Random): JsonBody {
  const schema = { type: 'object', properties: { a: { type: 'integer', minimum: 3 } } }
  const all: JsonBody = {
    temperature: random.pick([0, 0.5, 1]),
    top_p: 0.5,
    top_k: 3,
    stop_sequences: random.pick([['END'], [], ['1', '2', '3', '4', '5']]),
    metadata: random.pick<JsonBody>([{ user_id: 'me' }, { user_id: 'x'.repeat(200) }, {}]),
    thinking: random.pick<JsonBody>([
      { type: 'enabled', budget_tokens: 4000 },
      { type: 'adaptive' },
      { type: 'disabled' },
    ]),
    output_config: random.pick<JsonBody>([
      { effort: 'low' },
      { effort: 'max', format: { type: 'json_schema', schema } },
      { format: { type: 'json_schema', schema } },
    ]),
    service_tier: random.pick(['auto', 'standard_only', 'odd']),
    stream: random.chance(0.5),
    container: 'box',
  }
  return Object.fromEntries(Object.entries(all).filter(() => random.chance(0.3)))
}
