import type { JsonBody } from '../../support/duet.ts'
import type { Random } from './cases.ts'
import { type Fairness, type Step, someConversation, TOOL_NAMES } from './conversation.ts'

const MARK = { cache_control: { type: 'ephemeral' } }
const IMAGE = { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } }

/** A chat request with tools; a fair one could be sent to any server of the dialect. */
export function someChatRequest(random: Random, { isFair }: Fairness): JsonBody {
  const leading = Array.from({ length: random.between(0, 2) }, () => ({
    role: random.pick(['system', 'developer']),
    ...content(random, [random.pick(['Be brief.', 'Be kind.\n', ' '])], isFair),
  }))
  const steps = someConversation(random, { isFair })
  const messages = [...leading, ...steps.flatMap(step => chatMessages(random, step, isFair))]
  const all = messages.length > 0 ? messages : [{ role: 'user', content: 'Hello' }]
  return { model: 'm', messages: all, ...someTools(random), ...someSwitches(random, isFair) }
}

function content(random: Random, texts: readonly string[], isFair: boolean): JsonBody {
  if (texts.length === 1 && random.chance(0.6)) return { content: texts[0] }
  const mark = () => (!isFair && random.chance(0.2) ? MARK : {})
  return { content: texts.map(text => ({ type: 'text', text, ...mark() })), ...mark() }
}

function chatMessages(random: Random, step: Step, isFair: boolean): JsonBody[] {
  switch (step.type) {
    case 'user': {
      const { content: said, ...marks } = content(random, step.texts, isFair)
      const isSeen = !isFair && Array.isArray(said) && random.chance(0.1)
      return [{ role: 'user', content: isSeen ? [...said, IMAGE] : said, ...marks }]
    }
    case 'system':
      return [{ role: random.pick(['system', 'developer']), ...content(random, step.texts, isFair) }]
    case 'assistant-text':
      return [{ role: 'assistant', ...content(random, step.texts, isFair) }]
    case 'thought':
      return isFair ? [] : [{ role: 'assistant', content: '', reasoning_content: step.texts.join('') }]
    case 'calls': {
      const tool_calls = step.calls.map(({ id, name, arguments: made }) => ({
        ...{ id, type: 'function', function: { name, arguments: made } },
      }))
      const said = step.texts.length > 0 ? content(random, step.texts, isFair) : { content: random.pick([null, '']) }
      const signed = { reasoning_details: [{ type: 'reasoning.text', text: 'Hm.', signature: 'c2lnbmVk' }] }
      return [{ role: 'assistant', ...said, ...(!isFair && random.chance(0.2) ? signed : {}), tool_calls }]
    }
    case 'results': {
      const results = step.results.map(({ id, texts }) => ({
        ...{ role: 'tool', tool_call_id: id },
        ...content(random, texts, isFair),
      }))
      return step.texts.length > 0 ? [...results, { role: 'user', ...content(random, step.texts, isFair) }] : results
    }
  }
}

function someTools(random: Random): JsonBody {
  if (random.chance(0.2)) return random.chance(0.5) ? {} : { tools: [] }
  const tools = TOOL_NAMES.filter(() => random.chance(0.6)).map(name => ({
    type: 'function',
    function: {
      name,
      ...random.pick<JsonBody>([{}, { description: 'Does it.' }, { description: null }]),
      ...random.pick<JsonBody>([{}, { parameters: {} }, { parameters: { type: 'object', properties: { a: {} } } }]),
      ...(random.chance(0.2) ? { strict: true } : {}),
    },
    ...(random.chance(0.1) ? MARK : {}),
  }))
  const [first] = tools
  const named = first ? [{ type: 'function', function: { name: first.function.name } }] : []
  const choice = random.pick([undefined, 'auto', 'none', 'required', ...named])
  return {
    tools,
    ...(choice === undefined ? {} : { tool_choice: choice }),
    ...(random.chance(0.3) ? { parallel_tool_calls: random.chance(0.5) } : {}),
  }
}

function someSwitches(random: Random, isFair: boolean): JsonBody {
  const schema = { type: 'object', properties: { a: { type: 'integer', minimum: 3 } }, required: ['a'] }
  const all: JsonBody = {
    max_tokens: random.pick([1, 100, 2000, 100_000]),
    max_completion_tokens: random.pick([5, 3000]),
    temperature: random.pick([0, 0.5, 1, 2]),
    top_p: 0.5,
    top_k: 3,
    stop: random.pick<JsonBody>(
      isFair ? ['END', ['a', 'b']] : ['END', ['a', '', ' \n', 'b'], ['1', '2', '3', '4', '5'], []],
    ),
    user: random.pick(['me', 'me@example.com', 'x'.repeat(100)]),
    reasoning_effort: random.pick(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'odd']),
    response_format: random.pick<JsonBody>([
      { type: 'text' },
      { type: 'json_object' },
      { type: 'json_schema', json_schema: { name: 'a b', schema } },
    ]),
    service_tier: random.pick(['auto', 'default', 'flex']),
    stream: random.chance(0.5),
    seed: 7,
    metadata: { a: 'b' },
    n: 1,
  }
  return Object.fromEntries(Object.entries(all).filter(() => random.chance(0.3)))
}
