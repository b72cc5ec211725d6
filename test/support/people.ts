import { type AdminAnswer, readAnswer } from './contract.ts'
import type { Duet, JsonBody } from './duet.ts'

/** Somebody who is signed in, as a browser is: with a cookie, and with the header that other sites cannot send. */
export interface Person {
  readonly name: string
  /** `duet_session=<token>` */
  readonly cookie: string
  /** What the sign-in answered. */
  readonly session: JsonBody
  call(method: string, path: string, body?: unknown): Promise<AdminAnswer>
}

export const OPERATOR = { name: 'operator', password: 'correct horse battery' }

export const CONSOLE_HEADERS = { 'x-duet-console': '1', 'content-type': 'application/json' }

/** What the banner of the first start prints. */
export function firstLink(duet: Duet): string {
  const link = /Console\s+(\S+\/console\/welcome#\S+)/.exec(duet.output())?.[1]
  if (link === undefined) throw new Error(`no sign-in link was printed:\n${duet.output()}`)
  return link
}

export const tokenOf = (link: string): string => link.slice(link.indexOf('#') + 1)

/** Uses a link up. A reset has no name to give. */
export const acceptLink = (duet: Duet, link: string, given: { name?: string; password: string }): Promise<Person> =>
  enter(duet, '/api/invites/accept', { token: tokenOf(link), ...given })

export const signIn = (duet: Duet, given: { name: string; password: string }): Promise<Person> =>
  enter(duet, '/api/session', given)

const operators = new Map<string, Promise<Person>>()

/** The operator with a session of its own each time: the first uses up the link of the first start. */
export async function signInAsOperator(duet: Duet): Promise<Person> {
  const known = operators.get(duet.url)
  if (known === undefined) {
    const first = acceptLink(duet, firstLink(duet), OPERATOR)
    operators.set(duet.url, first)
    return first
  }
  await known
  return signIn(duet, OPERATOR)
}

/** Somebody new, invited by the admin token; with an account of their own unless one is named. */
export async function inviteMember(duet: Duet, name: string, invite: object = {}): Promise<Person> {
  const { body } = await duet.admin('POST', '/api/invites', { role: 'member', ...invite })
  return acceptLink(duet, body.link, { name, password: `the password of ${name}` })
}

/** What a browser sends to get in, and what it is told. */
export async function knock(
  duet: Duet,
  path: string,
  body: unknown,
  headers: Record<string, string> = CONSOLE_HEADERS,
) {
  const response = await fetch(duet.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  return { headers: response.headers, ...(await readAnswer('POST', path, response)) }
}

async function enter(duet: Duet, path: string, given: object): Promise<Person> {
  const { status, headers, body } = await knock(duet, path, given)
  const [cookie = ''] = (headers.get('set-cookie') ?? '').split(';')
  if (status !== 201 || cookie === '') throw new Error(`nobody was signed in: ${status} ${JSON.stringify(body)}`)
  return {
    name: body.user.name,
    cookie,
    session: body,
    call: (method, path, body) => callAs(duet, cookie, { method, path, body }),
  }
}

async function callAs(
  duet: Duet,
  cookie: string,
  { method, path, body }: { method: string; path: string; body: unknown },
) {
  const response = await fetch(duet.url + path, {
    method,
    headers: { ...CONSOLE_HEADERS, cookie },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return readAnswer(method, path, response)
}
