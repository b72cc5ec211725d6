import type { Agent, Task } from '../stage/agent.ts'
import { readNote, testAgent } from '../stage/agent-tests.ts'
import { useAgents } from '../stage/agents.ts'

const stage = useAgents(readNote)

for (const npm of ['@ai-sdk/openai-compatible', '@ai-sdk/anthropic']) testAgent(stage, opencode(npm))

/** With the provider package that its configuration names; both are built in. */
function opencode(npm: string): Agent {
  return {
    name: `opencode with ${npm}`,
    program: 'opencode',
    command: task => ({
      args: ['run', '--format', 'json', task.prompt],
      env: {
        OPENCODE_CONFIG_CONTENT: JSON.stringify(configuration(npm, task)),
        OPENCODE_DISABLE_AUTOUPDATE: '1',
        OPENCODE_DISABLE_MODELS_FETCH: '1',
        // It would fetch a library for plugins in the background.
        npm_config_offline: 'true',
      },
    }),
    answer: printed => printed.trim().split('\n').map(readEvent).join(''),
  }
}

function configuration(npm: string, { url, key, model }: Task) {
  return {
    autoupdate: false,
    share: 'disabled',
    enabled_providers: ['duet'],
    model: `duet/${model}`,
    small_model: `duet/${model}`,
    provider: {
      duet: {
        npm,
        name: 'Duet',
        options: { baseURL: `${url}/v1`, apiKey: key },
        models: { [model]: { name: model, limit: { context: 128_000, output: 8_000 } } },
      },
    },
  }
}

/** The text of one printed event, if it has any. */
function readEvent(line: string): string {
  const { type, part } = JSON.parse(line)
  return type === 'text' ? part.text : ''
}
