import type { Log } from '../telemetry/log.ts'

export interface ConsoleDeps {
  readonly log: Log
}

export function isConsole(path: string): boolean {
  return path === '/console' || path.startsWith('/console/')
}

/** Somebody typed the bare address of the server into a browser. */
export function isBareVisit(request: Request, path: string): boolean {
  return path === '/' && request.method === 'GET' && (request.headers.get('accept') ?? '').includes('text/html')
}

export function toConsole(): Response {
  return new Response(null, { status: 302, headers: { location: '/console', vary: 'accept' } })
}

/** The bundler is loaded when somebody looks: a start does not wait for it. */
export async function showConsole(request: Request, path: string, { log }: ConsoleDeps): Promise<Response> {
  const { serveConsole } = await import('./console/serve.ts')
  return serveConsole(request, path, log)
}
