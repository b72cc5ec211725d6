import {
  type Answer,
  type AnswerReader,
  count,
  faultOf,
  isObject,
  type Json,
  list,
  NOTHING_SAID,
  object,
  parse,
  type ToolCall,
  text,
  textOrNull,
} from './answer.ts'

export class ChatReader implements AnswerReader {
  answer: Answer = NOTHING_SAID

  frame(data: string): void {
    if (data !== '[DONE]') this.body(object(parse(data)))
  }

  /** A whole answer is a frame whose message has everything. */
  body(data: Json): void {
    if (isObject(data.error)) this.answer = { ...this.answer, error: faultOf(data.error, 0) }
    if (isObject(data.usage)) this.answer = { ...this.answer, ...usageOf(data.usage) }
    const choice = object(list(data.choices)[0])
    const said = object(choice.delta ?? choice.message)
    this.answer = {
      ...this.answer,
      text: this.answer.text + text(said.content),
      reasoning: this.answer.reasoning + (text(said.reasoning_content) || text(said.reasoning)),
      calls: list(said.tool_calls).reduce<readonly ToolCall[]>(addCall, this.answer.calls),
      ending: textOrNull(choice.finish_reason) ?? this.answer.ending,
    }
  }
}

/** Pieces of a call are found by its index; whole ones come in order. */
function addCall(calls: readonly ToolCall[], value: unknown, place: number): readonly ToolCall[] {
  const piece = object(value)
  const index = typeof piece.index === 'number' ? piece.index : place
  const called = object(piece.function)
  const known = calls[index]
  const call: ToolCall = {
    id: text(piece.id) || (known?.id ?? ''),
    name: text(called.name) || (known?.name ?? ''),
    input: (known?.input ?? '') + text(called.arguments),
  }
  return known ? calls.map((other, at) => (at === index ? call : other)) : [...calls, call]
}

/** Here the prompt counts with all that came from the cache. */
function usageOf(usage: Json): Pick<Answer, 'tokens' | 'cost'> {
  const prompt = object(usage.prompt_tokens_details)
  const cacheRead = count(prompt.cached_tokens)
  const cacheWrite = count(prompt.cache_write_tokens)
  return {
    tokens: {
      input: Math.max(0, count(usage.prompt_tokens) - cacheRead - cacheWrite),
      cache_read: cacheRead,
      cache_write: cacheWrite,
      output: count(usage.completion_tokens),
      reasoning: count(object(usage.completion_tokens_details).reasoning_tokens),
    },
    cost: textOrNull(usage.cost),
  }
}
