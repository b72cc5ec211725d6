import { describe, expect, test } from 'bun:test'
import { chunk, ends, made, opens, stop, useChatStream } from './chat-stream.ts'
import { call, text, use } from './stage.ts'

/** Section 3.2: the calls of a chat stream in a messages stream. */

const { lines, content } = useChatStream()

describe('calls', () => {
  test('stream as they come', async () => {
    expect(
      await lines(chunk({ content: 'so' }), opens(0, 'c1'), made(0, '{"a"'), made(0, ':1}'), ...stop('tool_calls')),
    ).toEqual([
      'message_start',
      'content_block_start #0 text',
      'content_block_delta #0 text_delta "so"',
      'content_block_stop #0',
      'content_block_start #1 tool_use id=c1 name=f input={}',
      'content_block_delta #1 input_json_delta "{\\"a\\""',
      'content_block_delta #1 input_json_delta ":1}"',
      'content_block_stop #1',
      ...ends('tool_use'),
    ])
  })

  test('that interleave come one after the other', async () => {
    const frames = [
      opens(0, 'c1'),
      opens(1, 'c2', 'g'),
      made(0, '{"a"'),
      made(1, '{"b"'),
      made(0, ':1}'),
      made(1, ':2}'),
      ...stop('tool_calls'),
    ]
    expect(await content(...frames)).toEqual([use('c1', 'f', { a: 1 }), use('c2', 'g', { b: 2 })])
    const order = (await lines(...frames)).map(line => /#(\d)/.exec(line)?.[1]).filter(Boolean)
    expect(order).toEqual([...order].sort())
  })

  test('hold back what is said amid their arguments', async () => {
    expect(
      await content(
        opens(0, 'c1'),
        made(0, '{"a":'),
        chunk({ content: 'aside' }),
        made(0, '1}'),
        ...stop('tool_calls'),
      ),
    ).toEqual([use('c1', 'f', { a: 1 }), text('aside')])
  })

  test('with all at index 0 are told apart by their ids', async () => {
    expect(
      await content(opens(0, 'c1', 'f', '{"a":1}'), opens(0, 'c2', 'g', '{"b":2}'), ...stop('tool_calls')),
    ).toEqual([use('c1', 'f', { a: 1 }), use('c2', 'g', { b: 2 })])
  })

  test('without an index go by their ids, else to the last', async () => {
    const bare = (fields: object) => chunk({ tool_calls: [fields] })
    const frames = [
      bare(call('c1', 'f', '{"a"')),
      bare({ function: { arguments: ':1}' } }),
      bare(call('c2', 'g', '')),
      bare({ id: 'c2', function: { arguments: '{"b":2}' } }),
    ]
    expect(await content(...frames, ...stop('tool_calls'))).toEqual([
      use('c1', 'f', { a: 1 }),
      use('c2', 'g', { b: 2 }),
    ])
  })

  test('take the first name and id, whatever is repeated or empty', async () => {
    const again = (args: string) =>
      made(0, args, { id: 'c1', type: 'function', function: { name: 'f', arguments: args } })
    expect(
      await content(
        opens(0, 'c1'),
        again('{"a":'),
        made(0, '1', { id: '', function: { name: '', arguments: '1' } }),
        again('}'),
        ...stop('tool_calls'),
      ),
    ).toEqual([use('c1', 'f', { a: 1 })])
  })

  test('whose name comes late begin with it', async () => {
    const frames = [
      chunk({ tool_calls: [{ index: 0, id: 'c1', type: 'function', function: {} }] }),
      made(0, '', { function: { name: 'f' } }),
      made(0, '{"a":1}'),
    ]
    expect(await content(...frames, ...stop('tool_calls'))).toEqual([use('c1', 'f', { a: 1 })])
  })

  test('take an object for the text it stands for', async () => {
    const frames = [opens(0, 'c1'), chunk({ tool_calls: [{ index: 0, function: { arguments: { a: 1 } } }] })]
    expect(await content(...frames, ...stop('tool_calls'))).toEqual([use('c1', 'f', { a: 1 })])
  })

  test('without arguments have an empty object, told in a delta', async () => {
    expect(await content(opens(0, 'c1'), ...stop('tool_calls'))).toEqual([use('c1')])
    expect(await lines(opens(0, 'c1'), ...stop('tool_calls'))).toContain('content_block_delta #0 input_json_delta "{}"')
  })

  test('drop what follows a complete value', async () => {
    expect(
      await content(opens(0, 'c1'), made(0, '{"a":1}'), made(0, '{"a":1}'), made(0, ' junk'), ...stop('tool_calls')),
    ).toEqual([use('c1', 'f', { a: 1 })])
  })

  test('without a name or an id get one', async () => {
    const [block] = await content(made(0, '{"a":1}'), ...stop('tool_calls'))
    expect(block).toEqual(use(block?.id, 'unknown', { a: 1 }))
    expect(block?.id).toMatch(/^[A-Za-z0-9_-]+$/)
  })

  test('of the legacy kind are calls', async () => {
    const [block] = await content(
      chunk({ function_call: { name: 'f', arguments: '' } }),
      chunk({ function_call: { arguments: '{"a":1}' } }),
      ...stop('function_call'),
    )
    expect(block).toEqual(use(block?.id, 'f', { a: 1 }))
  })
})
