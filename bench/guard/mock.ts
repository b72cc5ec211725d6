/** An upstream that needs nothing but the runtime: every answer is the same kilobyte. */
const answer = JSON.stringify({
  id: 'chatcmpl-guard',
  object: 'chat.completion',
  created: 1,
  model: 'bench-model',
  choices: [{ index: 0, message: { role: 'assistant', content: 'word '.repeat(150) }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 200, completion_tokens: 150, total_tokens: 350 },
})
const headers = { 'content-type': 'application/json' }
const upstreamOfGuard = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request) {
    await request.arrayBuffer()
    return new Response(answer, { headers })
  },
})
process.stdout.write(`listening ${upstreamOfGuard.port}\n`)
