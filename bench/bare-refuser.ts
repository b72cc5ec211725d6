/** A server that does nothing but refuse: about as fast as this runtime can be made to say no. */
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: () => new Response('{"error":{"code":"overloaded"}}', { status: 503, headers: { 'retry-after': '1' } }),
})
process.stdout.write(`${server.port}\n`)
