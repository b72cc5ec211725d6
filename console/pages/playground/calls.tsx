import { type Signal, useSignal } from '@preact/signals'
import { t } from '../../app/language.ts'
import { Button, Code, TextAreaField } from '../../kit/index.ts'
import { parse, type ToolCall } from './answer.ts'
import type { ToolResult } from './request.ts'
import type { Run } from './run.ts'
import { EXAMPLE_RESULT } from './tools.ts'

interface CallsProps {
  readonly run: Run
  readonly given: readonly ToolResult[] | null
  readonly onResults?: (given: readonly ToolResult[]) => void
}

/** What the model wants called. Nothing is run: whoever plays says what came back. */
export function Calls({ run, given, onResults }: CallsProps) {
  const { calls } = run.view.value.answer
  const texts = t().playground
  const results = useSignal<Readonly<Record<string, string>>>(
    Object.fromEntries(calls.map(({ id, name }) => [id, name === 'get_weather' ? EXAMPLE_RESULT : ''])),
  )
  const isOpen = given === null && onResults !== undefined
  return (
    <form
      class="stack playground-calls"
      onSubmit={event => {
        event.preventDefault()
        onResults?.(calls.map(({ id }) => ({ id, content: results.value[id] ?? '' })))
      }}
    >
      <p class="strong">{texts.calls(calls.length)}</p>
      {calls.map(call => (
        <div key={call.id} class="stack tight">
          <Code
            label={`${texts.called} ${call.name}, ${run.id}`}
            text={`${call.name}(${tidy(call.input)})`}
            isWrapped
          />
          {isOpen && <ResultField call={call} results={results} />}
          {given && (
            <Code
              label={`${texts.resultOf(call.name)}, ${run.id}`}
              text={given.find(({ id }) => id === call.id)?.content ?? ''}
              isWrapped
              isLow
            />
          )}
        </div>
      ))}
      {isOpen && (
        <div>
          <Button type="submit" kind="primary">
            {texts.sendResults}
          </Button>
        </div>
      )}
    </form>
  )
}

interface ResultFieldProps {
  readonly call: ToolCall
  readonly results: Signal<Readonly<Record<string, string>>>
}

function ResultField({ call: { id, name }, results }: ResultFieldProps) {
  const texts = t().playground
  const value = useSignal(results.peek()[id] ?? '')
  if (results.peek()[id] !== value.value) results.value = { ...results.peek(), [id]: value.value }
  return <TextAreaField label={texts.resultOf(name)} hint={texts.resultHint} value={value} rows={2} isCode />
}

function tidy(input: string): string {
  const value = parse(input)
  return value === undefined ? input : JSON.stringify(value, null, 2)
}
