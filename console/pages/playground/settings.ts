import { type Signal, signal } from '@preact/signals'
import { isObject, type Json, parse } from './answer.ts'
import { ANSWER_SCHEMA, type Effort, type Output, type ToolUse, type Wishes } from './request.ts'
import { readTools, type ToolsFault } from './tools.ts'

/** As they stand in the fields. */
export interface Settings {
  readonly system: Signal<string>
  readonly isStreamed: Signal<boolean>
  readonly maxTokens: Signal<string>
  readonly temperature: Signal<string>
  readonly hasTools: Signal<boolean>
  readonly tools: Signal<string>
  readonly toolUse: Signal<ToolUse>
  readonly output: Signal<Output>
  readonly schema: Signal<string>
  readonly effort: Signal<Effort>
}

const SCHEMA_TEXT = JSON.stringify(ANSWER_SCHEMA, null, 2)

export function newSettings(): Settings {
  return {
    system: signal(''),
    isStreamed: signal(true),
    maxTokens: signal('1024'),
    temperature: signal(''),
    hasTools: signal(false),
    tools: signal(''),
    toolUse: signal<ToolUse>('auto'),
    output: signal<Output>('text'),
    schema: signal(SCHEMA_TEXT),
    effort: signal<Effort>('default'),
  }
}

export interface SettingFaults {
  readonly maxTokens?: true
  readonly temperature?: true
  readonly tools?: ToolsFault
  readonly schema?: true
}

export interface ReadSettings {
  readonly wishes: Wishes
  readonly faults: SettingFaults
}

export function readSettings(settings: Settings): ReadSettings {
  const maxTokens = readNumber(settings.maxTokens.value, value => Number.isInteger(value) && value > 0)
  const temperature = readNumber(settings.temperature.value, value => value >= 0 && value <= 2)
  const tools = settings.hasTools.value ? readTools(settings.tools.value) : { tools: [], fault: null }
  const output = settings.output.value
  const schema = output === 'schema' ? readSchema(settings.schema.value) : ANSWER_SCHEMA
  return {
    wishes: {
      system: settings.system.value.trim(),
      isStreamed: settings.isStreamed.value,
      maxTokens: maxTokens ?? undefined,
      temperature: temperature ?? undefined,
      tools: tools.tools ?? [],
      toolUse: settings.toolUse.value,
      output,
      schema: schema ?? ANSWER_SCHEMA,
      effort: settings.effort.value,
    },
    faults: {
      ...(maxTokens === null ? { maxTokens: true } : {}),
      ...(temperature === null ? { temperature: true } : {}),
      ...(tools.fault ? { tools: tools.fault } : {}),
      ...(schema === null ? { schema: true } : {}),
    },
  }
}

/** Undefined for nothing, null for what is no such number. */
function readNumber(typed: string, isFine: (value: number) => boolean): number | undefined | null {
  if (typed.trim() === '') return undefined
  const value = Number(typed)
  return isFine(value) ? value : null
}

function readSchema(typed: string): Json | null {
  const value = parse(typed)
  return isObject(value) ? value : null
}
