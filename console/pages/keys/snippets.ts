/** Ready to run, with everything filled in. Pure, so that a test can run them. */

export interface Connection {
  /** With `/v1`, as the session says it. */
  readonly baseUrl: string
  readonly key: string
  readonly model: SnippetModel
}

export interface SnippetModel {
  readonly id: string
  readonly contextLength: number
  readonly maxOutputTokens: number
}

export const SNIPPETS = [
  'curl',
  'openaiTypeScript',
  'anthropicTypeScript',
  'openaiPython',
  'anthropicPython',
  'claudeCode',
  'opencode',
  'env',
] as const
export type SnippetName = (typeof SNIPPETS)[number]

/** One thing to copy. */
export interface SnippetPart {
  readonly id: 'chat' | 'messages' | 'install' | 'code' | 'shell' | 'file'
  readonly text: string
  /** Where it is saved, if it is a file. */
  readonly file?: string
}

export function snippet(name: SnippetName, connection: Connection): readonly SnippetPart[] {
  return WRITERS[name](connection)
}

const WRITERS: Readonly<Record<SnippetName, (connection: Connection) => readonly SnippetPart[]>> = {
  curl: connection => [
    { id: 'chat', text: chatCurl(connection) },
    { id: 'messages', text: messagesCurl(connection) },
  ],
  openaiTypeScript: connection => [
    { id: 'install', text: 'npm install openai' },
    { id: 'code', text: openaiTypeScript(connection) },
  ],
  anthropicTypeScript: connection => [
    { id: 'install', text: 'npm install @anthropic-ai/sdk' },
    { id: 'code', text: anthropicTypeScript(connection) },
  ],
  openaiPython: connection => [
    { id: 'install', text: 'pip install openai' },
    { id: 'code', text: openaiPython(connection) },
  ],
  anthropicPython: connection => [
    { id: 'install', text: 'pip install anthropic' },
    { id: 'code', text: anthropicPython(connection) },
  ],
  claudeCode: connection => [{ id: 'shell', text: claudeCode(connection) }],
  opencode: connection => [{ id: 'file', file: 'opencode.json', text: opencode(connection) }],
  env: connection => [{ id: 'file', file: '.env', text: env(connection) }],
}

const HELLO = 'Hello'
const OUTPUT_TOKENS = 200

/** Some clients add the `/v1` themselves. */
export const bareUrl = (baseUrl: string): string => baseUrl.replace(/\/v1$/, '')

// ── curl ────────────────────────────────────────────────────────────────────────────────────────────────────────────

const chatCurl = ({ baseUrl, key, model }: Connection) => `curl ${shell(`${baseUrl}/chat/completions`)} \\
  -H ${shell(`Authorization: Bearer ${key}`)} \\
  -H 'Content-Type: application/json' \\
  -d ${shell(JSON.stringify({ model: model.id, messages: [{ role: 'user', content: HELLO }] }))}`

const messagesCurl = ({ baseUrl, key, model }: Connection) => `curl ${shell(`${baseUrl}/messages`)} \\
  -H ${shell(`x-api-key: ${key}`)} \\
  -H 'anthropic-version: 2023-06-01' \\
  -H 'Content-Type: application/json' \\
  -d ${shell(
    JSON.stringify({ model: model.id, max_tokens: OUTPUT_TOKENS, messages: [{ role: 'user', content: HELLO }] }),
  )}`

// ── the official clients ────────────────────────────────────────────────────────────────────────────────────────────

const openaiTypeScript = ({ baseUrl, key, model }: Connection) => `import OpenAI from 'openai'

const client = new OpenAI({
  baseURL: ${script(baseUrl)},
  apiKey: ${script(key)},
})

const answer = await client.chat.completions.create({
  model: ${script(model.id)},
  messages: [{ role: 'user', content: '${HELLO}' }],
})
console.log(answer.choices[0]?.message.content)`

const anthropicTypeScript = ({ baseUrl, key, model }: Connection) => `import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic({
  baseURL: ${script(baseUrl)},
  apiKey: ${script(key)},
})

const answer = await client.messages.create({
  model: ${script(model.id)},
  max_tokens: ${OUTPUT_TOKENS},
  messages: [{ role: 'user', content: '${HELLO}' }],
})
for (const block of answer.content) if (block.type === 'text') console.log(block.text)`

const openaiPython = ({ baseUrl, key, model }: Connection) => `from openai import OpenAI

client = OpenAI(
    base_url=${JSON.stringify(baseUrl)},
    api_key=${JSON.stringify(key)},
)

answer = client.chat.completions.create(
    model=${JSON.stringify(model.id)},
    messages=[{"role": "user", "content": "${HELLO}"}],
)
print(answer.choices[0].message.content)`

const anthropicPython = ({ baseUrl, key, model }: Connection) => `from anthropic import Anthropic

client = Anthropic(
    base_url=${JSON.stringify(baseUrl)},
    api_key=${JSON.stringify(key)},
)

answer = client.messages.create(
    model=${JSON.stringify(model.id)},
    max_tokens=${OUTPUT_TOKENS},
    messages=[{"role": "user", "content": "${HELLO}"}],
)
for block in answer.content:
    if block.type == "text":
        print(block.text)`

// ── agents ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** It asks for models by names of its own unless every one of its roles is given another. */
const CLAUDE_CODE_MODELS = [
  'ANTHROPIC_MODEL',
  'ANTHROPIC_DEFAULT_OPUS_MODEL',
  'ANTHROPIC_DEFAULT_SONNET_MODEL',
  'ANTHROPIC_DEFAULT_HAIKU_MODEL',
  'CLAUDE_CODE_SUBAGENT_MODEL',
]

const claudeCode = ({ baseUrl, key, model }: Connection) =>
  [
    `export ANTHROPIC_BASE_URL=${shell(bareUrl(baseUrl))}`,
    `export ANTHROPIC_AUTH_TOKEN=${shell(key)}`,
    ...CLAUDE_CODE_MODELS.map(name => `export ${name}=${shell(model.id)}`),
    'export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1',
    // A key for elsewhere would be asked about, or sent here.
    'unset ANTHROPIC_API_KEY',
    'claude',
  ].join('\n')

function opencode({ baseUrl, key, model }: Connection): string {
  const limit = { context: model.contextLength, output: model.maxOutputTokens }
  const configuration = {
    model: `duet/${model.id}`,
    small_model: `duet/${model.id}`,
    provider: {
      duet: {
        npm: '@ai-sdk/openai-compatible',
        name: 'Duet',
        options: { baseURL: baseUrl, apiKey: key },
        models: { [model.id]: { name: model.id, limit } },
      },
    },
  }
  return JSON.stringify(configuration, null, 2)
}

/** Read by the official clients of both protocols when they are given nothing else. */
const env = ({ baseUrl, key }: Connection) =>
  [
    `OPENAI_BASE_URL=${baseUrl}`,
    `OPENAI_API_KEY=${key}`,
    `ANTHROPIC_BASE_URL=${bareUrl(baseUrl)}`,
    `ANTHROPIC_API_KEY=${key}`,
  ].join('\n')

// ── quoting ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Inside single quotes a shell leaves everything alone but the single quote. */
const shell = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

const script = (text: string): string =>
  `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
