import type { Log } from '../../telemetry/log.ts'
import { ASSETS, type Asset, type Bundle, buildBundle } from './bundle.ts'

/** Everything the page may load comes from here; it can be framed by nobody and runs nothing that stands in the page. */
const PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'cache-control': 'no-cache',
}

const ASSET_HEADERS = {
  'x-content-type-options': 'nosniff',
  'cache-control': 'public, max-age=31536000, immutable',
}

let bundle: Promise<Bundle> | undefined

/** Made at the first visit; one that failed is tried again at the next. */
function theBundle(): Promise<Bundle> {
  bundle ??= buildBundle().catch(error => {
    bundle = undefined
    throw error
  })
  return bundle
}

/** Assets by their names; the page for every other address, whose meaning is known to its script. */
export async function serveConsole(request: Request, path: string, log: Log): Promise<Response> {
  if (request.method !== 'GET') return textual(405, 'The console is only read.', { allow: 'GET, HEAD' })
  try {
    const { assets, html, etag } = await theBundle()
    if (!path.startsWith(ASSETS)) return page(request, html, etag)
    const asset = assets.get(path.slice(ASSETS.length))
    return asset ? send(asset, request, ASSET_HEADERS) : textual(404, 'There is no such part of the console.')
  } catch (error) {
    log.error('the console cannot be built', { error })
    return textual(500, 'The console cannot be built; the log says why.')
  }
}

function page(request: Request, html: Asset, etag: string): Response {
  const headers = { ...PAGE_HEADERS, etag }
  if (request.headers.get('if-none-match')?.includes(etag)) return new Response(null, { status: 304, headers })
  return send(html, request, headers)
}

function send(asset: Asset, request: Request, headers: Readonly<Record<string, string>>): Response {
  const encoding = encodingOf(request.headers.get('accept-encoding') ?? '')
  return new Response(asset[encoding], {
    headers: {
      ...headers,
      'content-type': asset.type,
      vary: 'accept-encoding',
      ...(encoding === 'plain' ? {} : { 'content-encoding': encoding }),
    },
  })
}

/** Browsers name what they understand and exclude nothing. */
function encodingOf(accepted: string): 'br' | 'gzip' | 'plain' {
  if (/\bbr\b/.test(accepted)) return 'br'
  return /\bgzip\b/.test(accepted) ? 'gzip' : 'plain'
}

function textual(status: number, text: string, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(`${text}\n`, {
    status,
    headers: { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store', ...headers },
  })
}
