import type { TextPart, ToolCall, ToolResult, TurnMessage, UserPart } from '../core/turn.ts'

/** A conversation for an upstream that knows no tools: what was called and what came of it are told in words. */
export const toldInWords = (messages: readonly TurnMessage[]): TurnMessage[] => messages.map(told)

function told(message: TurnMessage): TurnMessage {
  switch (message.role) {
    case 'system':
      return message
    case 'assistant':
      return { ...message, parts: message.parts.map(part => (part.type === 'tool-call' ? toldCall(part) : part)) }
    case 'user':
      return {
        ...message,
        parts: message.parts.flatMap(part => (part.type === 'tool-result' ? toldResult(part) : [part])),
      }
  }
}

const toldCall = ({ name, arguments: made }: ToolCall): TextPart => ({
  type: 'text',
  text: `[Called the tool ${name} with ${made || '{}'}]`,
})

const toldResult = ({ parts, isError }: ToolResult): UserPart[] => [
  { type: 'text', text: isError ? '[The tool failed]' : '[The tool returned]' },
  ...parts,
]
