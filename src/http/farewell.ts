/** What is still on its way when an answer is ready: more than this, or later, and the connection stays open instead. */
const AWAITED_BYTES_MAX = 64 * 1024
const AWAITED_MS_MAX = 1_000

/**
 * The last answer on its connection, so that the client goes elsewhere with its next request. One that is still sending
 * would see its connection break, and never read the answer: then the connection stays as it is.
 */
export async function withFarewell(request: Request, response: Response): Promise<Response> {
  if (await isReceived(request, response)) response.headers.set('connection', 'close')
  return response
}

async function isReceived({ body, bodyUsed }: Request, { status }: Response): Promise<boolean> {
  if (body === null) return true
  return bodyUsed ? status !== 413 : receive(body)
}

/** Nobody wants to know what it says. */
async function receive(body: ReadableStream<Uint8Array>): Promise<boolean> {
  const reader = body.getReader()
  let isGivenUp = false
  const giveUp = () => {
    isGivenUp = true
    reader.cancel().catch(() => {})
  }
  const timer = setTimeout(giveUp, AWAITED_MS_MAX)
  try {
    let bytes = 0
    for (let read = await reader.read(); read.value; read = await reader.read()) {
      bytes += read.value.byteLength
      if (bytes > AWAITED_BYTES_MAX) giveUp()
    }
    return !isGivenUp
  } catch {
    return true
  } finally {
    clearTimeout(timer)
  }
}
