import type { Json, ProtocolName } from './answer.ts'
import { PATHS } from './request.ts'

interface CurlParts {
  readonly protocol: ProtocolName
  /** With `/v1`. */
  readonly baseUrl: string
  readonly body: Json
}

const KEY_HEADERS: Readonly<Record<ProtocolName, string>> = {
  chat: '"Authorization: Bearer $DUET_KEY"',
  messages: '"x-api-key: $DUET_KEY"',
}

/** The same call for a shell. The key is left to the environment: what is copied around must hold no secret. */
export function curlOf({ protocol, baseUrl, body }: CurlParts): string {
  const flags = body.stream === true ? '-N ' : ''
  return `curl ${flags}${quoted(baseUrl + PATHS[protocol])} \\
  -H ${KEY_HEADERS[protocol]} \\
  -H 'Content-Type: application/json' \\
  -d ${quoted(JSON.stringify(body, null, 2))}`
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
