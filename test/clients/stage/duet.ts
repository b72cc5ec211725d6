import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { launch, newFolder, removeFolder } from './process.ts'

/** A real Duet in a process of its own, on a port and in a folder of its own. */
export interface Duet {
  /** Without `/v1`. */
  readonly url: string
  /** With `/v1`: the one address that the interface promises to the clients of both protocols. */
  readonly base: string
  readonly key: string
  /** Calls the management API. */
  admin<T>(method: string, path: string, body?: unknown): Promise<T>
  stop(): Promise<void>
}

export type Protocol = 'chat' | 'messages'

export const PROTOCOLS: readonly Protocol[] = ['chat', 'messages']

const KEY = `sk-duet-${'c'.repeat(43)}`
const ADMIN_TOKEN = 'duet-admin-token-of-the-client-tests'

export async function startDuet(upstream: string): Promise<Duet> {
  const folder = newFolder()
  writeFileSync(join(folder, 'duet.yaml'), configFor(upstream))
  const env = {
    DUET_PORT: '0',
    DUET_DATA: join(folder, 'data'),
    DUET_ADMIN_TOKEN: ADMIN_TOKEN,
    DUET_BOOTSTRAP_KEY: KEY,
  }
  const { found: url, stop } = await launch(['start'], { folder, env, ready: /Base URL\s+(\S+)\/v1/ })
  return {
    url,
    base: `${url}/v1`,
    key: KEY,
    admin: (method, path, body) => callAdmin(url, { method, path, body }),
    async stop() {
      await stop()
      removeFolder(folder)
    },
  }
}

/** The model that answers through an upstream of this protocol; the thinking one reasons first. */
export const modelOf = (protocol: Protocol): string => `acme/${protocol}`
export const thinkingModelOf = (protocol: Protocol): string => `acme/${protocol}-thinking`

/** Both channels call the upstream's models by the same names, so its answers differ in the protocol only. */
function configFor(upstream: string): string {
  const models = PROTOCOLS.map(
    protocol => `
  - { id: ${modelOf(protocol)}, price: { input: 1, output: 4 }, max_output_tokens: 32000 }
  - { id: ${thinkingModelOf(protocol)}, price: { input: 1, output: 4 }, max_output_tokens: 32000, reasoning: true }`,
  )
  const channels = PROTOCOLS.map(
    protocol => `
  - name: speaks-${protocol}
    protocol: ${protocol}
    base_url: ${upstream}
    api_key: vendor-key-0123456789
    models: { ${modelOf(protocol)}: swift, ${thinkingModelOf(protocol)}: swift-thinking }`,
  )
  return `models:${models.join('')}\nchannels:${channels.join('')}\n`
}

interface AdminCall {
  readonly method: string
  readonly path: string
  readonly body: unknown
}

async function callAdmin<T>(url: string, { method, path, body }: AdminCall): Promise<T> {
  const response = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
  return JSON.parse(text)
}

const GONE_MS_MAX = 5_000

/** Whether Duet has noticed that a client of this model hung up. */
export async function seesClientGone({ admin }: Duet, model: string): Promise<boolean> {
  const path = `/api/usage?status=client_gone&model=${encodeURIComponent(model)}`
  const deadline = Date.now() + GONE_MS_MAX
  while (Date.now() < deadline) {
    const { data } = await admin<{ data: readonly unknown[] }>('GET', path)
    if (data.length > 0) return true
    await sleep(20)
  }
  return false
}
