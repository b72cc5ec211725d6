import { describe, expect, test } from 'bun:test'
import { AnswerReader, LineCut } from '../../src/upstream/http/answer-reader.ts'
import type { Head } from '../../src/upstream/http/head.ts'
import { Random } from '../ledger/property/random.ts'

/** What was told of an answer, and what its connection is good for afterwards. */
interface Read {
  readonly status: number | undefined
  readonly type: string | null | undefined
  readonly body: string
  readonly isOver: boolean
  readonly isKept: boolean
}

/** Every piece is copied: payloads are moved together in the bytes that came. */
class Told {
  readonly reader = new AnswerReader({
    head: head => this.heads.push(head),
    body: bytes => this.pieces.push(Buffer.from(bytes)),
  })
  readonly heads: Head[] = []
  readonly pieces: Buffer[] = []

  push(bytes: Uint8Array): this {
    this.reader.push(Buffer.from(bytes))
    return this
  }

  get body(): Buffer {
    return Buffer.concat(this.pieces)
  }

  get all(): Read {
    expect(this.heads.length).toBeLessThanOrEqual(1)
    const { isOver, isKept } = this.reader
    const [head] = this.heads
    return { status: head?.status, type: head?.get('content-type'), body: this.body.toString('latin1'), isOver, isKept }
  }
}

function read(pieces: readonly Uint8Array[], closes: boolean): Read {
  const told = new Told()
  for (const piece of pieces) told.push(piece)
  if (closes) told.reader.close()
  return told.all
}

interface Sent {
  readonly text: string
  /** The other side ends the connection after it. */
  readonly closes?: true
}

/** In one piece, in two that are cut at every single place, and byte by byte. */
function* everyCut({ text }: Sent): Generator<readonly Uint8Array[]> {
  const bytes = Buffer.from(text, 'latin1')
  yield [bytes]
  for (let cut = 1; cut < bytes.length; cut++) yield [bytes.subarray(0, cut), bytes.subarray(cut)]
  yield [...bytes].map(byte => Uint8Array.of(byte))
}

const headOf = (fields: readonly string[], status = 'HTTP/1.1 200 OK'): string =>
  `${[status, 'Content-Type: text/plain', ...fields].join('\r\n')}\r\n\r\n`

const BODY = 'Hello, world\r\n\r\nHTTP/1.1 200 OK\r\n\r\n'
const LENGTH = `content-length: ${BODY.length}`
const CHUNKED = 'transfer-encoding: chunked'
const CHUNKS = `5\r\nHello\r\n${(BODY.length - 5).toString(16)}\r\n${BODY.slice(5)}\r\n0\r\n\r\n`

// ── answers ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const WHOLE = { status: 200, type: 'text/plain', body: BODY, isOver: true, isKept: true }

const ANSWERS: Record<string, Sent & { readonly gives?: Partial<Read> }> = {
  'a length': { text: headOf([LENGTH]) + BODY },
  'a length in other letters, with blanks': { text: headOf([`CONTENT-Length: \t${BODY.length}  `]) + BODY },
  'two lengths that are equal': { text: headOf([LENGTH, LENGTH]) + BODY },
  'a length of zero': { text: headOf(['content-length: 0']), gives: { body: '' } },
  'a length, and more than that': { text: `${headOf([LENGTH])}${BODY}more`, gives: { isKept: false } },
  'a length, and less than that': {
    text: headOf([LENGTH]) + BODY.slice(1),
    gives: { body: BODY.slice(1), isOver: false },
  },
  'a status without a reason': { text: headOf([LENGTH], 'HTTP/1.1 200') + BODY },
  'a refusal': { text: headOf([LENGTH], 'HTTP/1.1 503 Not now') + BODY, gives: { status: 503 } },
  'characters beyond ASCII in a header': { text: headOf(['x-city: Z\xfcrich', LENGTH]) + BODY },
  'bytes of every kind': {
    text: `${headOf(['content-length: 6'])}\0\r\n\xff\x80\n`,
    gives: { body: '\0\r\n\xff\x80\n' },
  },

  chunks: { text: headOf([CHUNKED]) + CHUNKS },
  'chunks that are announced in capital letters': { text: headOf(['Transfer-Encoding: CHUNKED']) + CHUNKS },
  'chunks that are announced twice': { text: headOf([CHUNKED, CHUNKED]) + CHUNKS },
  'chunks with extensions': {
    text: `${headOf([CHUNKED])}5;name=value\r\nHello\r\n2 ; a="b;c"\r\n, \r\n0;last\r\n\r\n`,
    gives: { body: 'Hello, ' },
  },
  'chunks with trailers': {
    text: `${headOf([CHUNKED])}5\r\nHello\r\n0\r\nx-sum: 1\r\nx-more: \r\n\r\n`,
    gives: { body: 'Hello' },
  },
  'sizes in capital letters, and with zeros before them': {
    text: `${headOf([CHUNKED])}1B\r\n${'x'.repeat(27)}\r\n00001b\r\n${'y'.repeat(27)}\r\n000\r\n\r\n`,
    gives: { body: 'x'.repeat(27) + 'y'.repeat(27) },
  },
  'lines that end without a carriage return between chunks': {
    text: `${headOf([CHUNKED])}5\nHello\n0\n\n`,
    gives: { body: 'Hello' },
  },
  'chunks of nothing': { text: `${headOf([CHUNKED])}0\r\n\r\n`, gives: { body: '' } },
  'chunks whose end has not come': {
    text: `${headOf([CHUNKED])}5\r\nHello\r\n0\r\n`,
    gives: { body: 'Hello', isOver: false },
  },
  'chunks, and more than that': { text: `${headOf([CHUNKED])}${CHUNKS}0\r\n\r\n`, gives: { isKept: false } },
  'chunks and a length: the chunks count, and nothing that follows': {
    text: headOf(['content-length: 3', CHUNKED]) + CHUNKS,
    gives: { isKept: false },
  },

  'no length, up to the end': { text: headOf([]) + BODY, closes: true, gives: { isKept: false } },
  'no length, and no end yet': { text: headOf([]) + BODY, gives: { isOver: false } },
  'no length, and nothing': { text: headOf([]), closes: true, gives: { body: '', isKept: false } },
  'no coding, by name, and no length': {
    text: headOf(['transfer-encoding: identity']) + BODY,
    closes: true,
    gives: { isKept: false },
  },

  'hints before the answer': {
    text: `HTTP/1.1 100 Continue\r\n\r\n${headOf(['link: </a>'], 'HTTP/1.1 103 Early Hints')}${headOf([LENGTH])}${BODY}`,
  },
  'hints before chunks': { text: `HTTP/1.1 102 Processing\r\n\r\n${headOf([CHUNKED])}${CHUNKS}` },
  'hints, and nothing else yet': {
    text: 'HTTP/1.1 100 Continue\r\n\r\n',
    gives: { status: undefined, type: undefined, body: '', isOver: false },
  },
  'half of a head': {
    text: 'HTTP/1.1 200 OK\r\ncontent-le',
    gives: { status: undefined, type: undefined, body: '', isOver: false },
  },

  'no content, whatever its length': {
    text: headOf([LENGTH], 'HTTP/1.1 204 No Content'),
    gives: { status: 204, body: '' },
  },
  'no content, whatever its coding': {
    text: headOf([CHUNKED], 'HTTP/1.1 204 No Content'),
    gives: { status: 204, body: '' },
  },
  'no content, and content': {
    text: headOf([LENGTH], 'HTTP/1.1 204 No Content') + BODY,
    gives: { status: 204, body: '', isKept: false },
  },
  'nothing new': { text: headOf([LENGTH], 'HTTP/1.1 304 Not Modified'), gives: { status: 304, body: '' } },

  'a connection that is not kept': { text: headOf(['Connection: Close', LENGTH]) + BODY, gives: { isKept: false } },
  'a connection that is not kept, among other words': {
    text: headOf(['connection: x-hop, close', CHUNKED]) + CHUNKS,
    gives: { isKept: false },
  },
  'HTTP/1.0': { text: headOf([LENGTH], 'HTTP/1.0 200 OK') + BODY, gives: { isKept: false } },
  'HTTP/1.0 that keeps the connection': {
    text: headOf(['Connection: Keep-Alive', LENGTH], 'HTTP/1.0 200 OK') + BODY,
  },
  'HTTP/1.0, up to the end': {
    text: headOf(['connection: keep-alive'], 'HTTP/1.0 200 OK') + BODY,
    closes: true,
    gives: { isKept: false },
  },
}

describe('an answer is read alike, wherever its bytes are cut:', () => {
  for (const [name, { gives, closes = false, ...sent }] of Object.entries(ANSWERS)) {
    test(name, () => {
      for (const pieces of everyCut(sent)) expect(read(pieces, closes)).toEqual({ ...WHOLE, ...gives })
    })
  }
})

// ── what is no answer ───────────────────────────────────────────────────────────────────────────────────────────────

const NO_HTTP = 'The upstream does not speak HTTP/1.1'
const NO_LENGTH = 'The upstream sent an answer of no length'
const NO_CODING = 'The upstream sent its answer in a coding that nobody asked for'
const NO_CHUNKS = 'The upstream sent malformed chunks'
const TOO_MUCH = 'The upstream sent too many headers'
const CUT = 'The upstream ended the connection before its answer was over'

const NONSENSE: Record<string, Sent & { readonly says: string }> = {
  'lengths that differ': { text: headOf([LENGTH, 'content-length: 3']) + BODY, says: NO_LENGTH },
  'a list of lengths': { text: headOf(['content-length: 3, 3']) + BODY, says: NO_LENGTH },
  'a length below zero': { text: headOf(['content-length: -1']), says: NO_LENGTH },
  'a length with a sign': { text: headOf(['content-length: +3']), says: NO_LENGTH },
  'a length in hexadecimal': { text: headOf(['content-length: 0x3']), says: NO_LENGTH },
  'a length that is too long to count': { text: headOf([`content-length: ${'9'.repeat(16)}`]), says: NO_LENGTH },
  'an empty length': { text: headOf(['content-length:']), says: NO_LENGTH },
  'an unknown coding': { text: headOf(['transfer-encoding: gzip']), says: NO_CODING },
  'two codings': { text: headOf(['transfer-encoding: gzip, chunked']), says: NO_CODING },
  'two codings in two headers': { text: headOf([CHUNKED, 'transfer-encoding: gzip']), says: NO_CODING },
  'a coding and none': { text: headOf(['transfer-encoding: identity', CHUNKED]), says: NO_CODING },
  'another protocol from here on': {
    text: headOf([], 'HTTP/1.1 101 Go on'),
    says: 'The upstream wants to speak another protocol',
  },
  'HTTP/2': { text: headOf([LENGTH], 'HTTP/2 200') + BODY, says: NO_HTTP },
  'HTTP/1.2': { text: headOf([LENGTH], 'HTTP/1.2 200 OK') + BODY, says: NO_HTTP },
  'small letters': { text: headOf([LENGTH], 'http/1.1 200 OK') + BODY, says: NO_HTTP },
  'a status of two digits': { text: headOf([LENGTH], 'HTTP/1.1 20 OK') + BODY, says: NO_HTTP },
  'a status of four digits': { text: headOf([LENGTH], 'HTTP/1.1 2000 OK') + BODY, says: NO_HTTP },
  'a status that begins with zero': { text: headOf([LENGTH], 'HTTP/1.1 099 OK') + BODY, says: NO_HTTP },
  'no status': { text: headOf([LENGTH], 'HTTP/1.1 OK') + BODY, says: NO_HTTP },
  'an empty line first': { text: `\r\n${headOf([LENGTH])}${BODY}`, says: NO_HTTP },
  'another protocol': { text: 'SSH-2.0-Server_9.9\r\n', says: NO_HTTP },
  'nonsense after hints': { text: 'HTTP/1.1 100 Continue\r\n\r\nnonsense', says: NO_HTTP },
  'a chunk without a size': { text: `${headOf([CHUNKED])}\r\nHello`, says: NO_CHUNKS },
  'a size that is none': { text: `${headOf([CHUNKED])}5g\r\nHello\r\n`, says: NO_CHUNKS },
  'a size below zero': { text: `${headOf([CHUNKED])}-5\r\nHello\r\n`, says: NO_CHUNKS },
  'a size with too many digits': { text: `${headOf([CHUNKED])}${'0'.repeat(11)}5\r\nHello\r\n`, says: NO_CHUNKS },
  'a chunk that is longer than it says': { text: `${headOf([CHUNKED])}4\r\nHello\r\n0\r\n\r\n`, says: NO_CHUNKS },
  'an end before the answer': { text: '', closes: true, says: CUT },
  'an end in the head': { text: headOf([LENGTH]).slice(0, -1), closes: true, says: CUT },
  'an end after hints': { text: 'HTTP/1.1 100 Continue\r\n\r\n', closes: true, says: CUT },
  'an end before the length is reached': { text: headOf([LENGTH]) + BODY.slice(1), closes: true, says: CUT },
  'an end before the last chunk': { text: `${headOf([CHUNKED])}5\r\nHello\r\n`, closes: true, says: CUT },
  'an end in the last line': { text: `${headOf([CHUNKED])}5\r\nHello\r\n0\r\n\r`, closes: true, says: CUT },
}

describe('what is no answer is refused, wherever its bytes are cut:', () => {
  for (const [name, { says, closes = false, ...sent }] of Object.entries(NONSENSE)) {
    test(name, () => {
      for (const pieces of everyCut(sent)) expect(() => read(pieces, closes)).toThrow(says)
    })
  }

  test('an end too early is told from nonsense', () => {
    expect(() => new Told().reader.close()).toThrow(LineCut)
  })
})

// ── sizes ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const HEAD_BYTES_MAX = 64 * 1024

/** A head of exactly so many bytes, its end not counted. */
function headOfBytes(count: number): string {
  const bare = headOf([LENGTH, 'x-more: ']).length - 4
  return headOf([LENGTH, `x-more: ${'x'.repeat(count - bare)}`])
}

/** Every place would take minutes here: around both ends, and at a few between. */
function* fewCuts(text: string): Generator<readonly Uint8Array[]> {
  const bytes = Buffer.from(text, 'latin1')
  yield [bytes]
  for (const place of [1, 1_000, HEAD_BYTES_MAX - 1, HEAD_BYTES_MAX, HEAD_BYTES_MAX + 1, HEAD_BYTES_MAX + 3]) {
    yield [bytes.subarray(0, place), bytes.subarray(place)]
  }
  yield Array.from({ length: Math.ceil(bytes.length / 700) }, (_, turn) => bytes.subarray(turn * 700, turn * 700 + 700))
}

test('a head has a size, and it is the same however it comes', () => {
  for (const pieces of fewCuts(headOfBytes(HEAD_BYTES_MAX) + BODY)) expect(read(pieces, false)).toEqual(WHOLE)
  const long = headOfBytes(HEAD_BYTES_MAX + 1) + BODY
  for (const pieces of fewCuts(long)) expect(() => read(pieces, false)).toThrow(TOO_MUCH)
  const endless = headOfBytes(HEAD_BYTES_MAX * 3).slice(0, -4)
  for (const pieces of fewCuts(endless)) expect(() => read(pieces, false)).toThrow(TOO_MUCH)
})

test('a long body after a head that came in two pieces is not lost', () => {
  const body = 'x'.repeat(HEAD_BYTES_MAX * 4)
  const text = headOf([`content-length: ${body.length}`]) + body
  for (const pieces of fewCuts(text)) expect(read(pieces, false)).toEqual({ ...WHOLE, body })
})

test('what stands between chunks has a size, too', () => {
  const endless = 'x'.repeat(HEAD_BYTES_MAX)
  for (const text of [`5;${endless}\r\nHello\r\n`, `0\r\nx-more: ${endless}\r\n`, `5\r\nHello\r\n5;${endless}`]) {
    const sent = [Buffer.from(headOf([CHUNKED])), Buffer.from(text)]
    expect(() => read(sent, false)).toThrow('The upstream sent chunks without end')
  }
})

test('a long answer in small chunks has no end that comes from counting', () => {
  const told = new Told().push(Buffer.from(headOf([CHUNKED])))
  const many = Buffer.from('1;note=nothing\r\nx\r\n'.repeat(1_000))
  for (let turn = 0; turn < 20; turn++) told.push(many)
  expect(told.push(Buffer.from('0\r\n\r\n')).all).toEqual({ ...WHOLE, body: 'x'.repeat(20_000) })
})

// ── payloads that are moved together ────────────────────────────────────────────────────────────────────────────────

test('chunks that come at once are told at once', () => {
  const told = new Told().push(Buffer.from(headOf([CHUNKED])))
  told.push(Buffer.from('1\r\na\r\n2\r\nbb\r\nA\r\n0123456789\r\n3\r\ncc'))
  told.push(Buffer.from('c\r\n4;x=y\r\ndddd\r\n0\r\nx-sum: 1\r\n\r\n'))
  expect(told.pieces.map(String)).toEqual(['abb0123456789cc', 'cdddd'])
  expect(told.all).toMatchObject({ isOver: true, isKept: true })
})

test('chunks that come with the head are told apart from it', () => {
  const told = new Told().push(Buffer.from(`${headOf([CHUNKED])}2\r\naa\r\n3\r\nbbb\r\n`))
  expect(told.pieces.map(String)).toEqual(['aabbb'])
})

interface Chunky {
  readonly body: Buffer
  readonly wire: Buffer
}

/** Long and short chunks of any bytes, in every manner that there is to write them. */
function someChunks(random: Random): Chunky {
  const payloads: Buffer[] = []
  const wire: Buffer[] = [Buffer.from(headOf([CHUNKED]))]
  for (let left = random.between(0, 40); left > 0; left--) {
    const size = random.between(1, random.pick([3, 20, 300, 5_000]))
    const payload = Buffer.from(Array.from({ length: size }, () => random.between(0, 255)))
    const hex = size.toString(16).padStart(random.between(1, 6), '0')
    const name = random.chance(0.5) ? hex.toUpperCase() : hex
    const extension = random.pick(['', '', ';a', '; a="b"', ' '])
    payloads.push(payload)
    wire.push(Buffer.from(`${name}${extension}\r\n`), payload, Buffer.from('\r\n'))
  }
  wire.push(Buffer.from(`0\r\n${random.pick(['', 'x-sum: 1\r\n', 'a: b\r\nc: d\r\n'])}\r\n`))
  return { body: Buffer.concat(payloads), wire: Buffer.concat(wire) }
}

test('chunks of any size, cut anywhere, give what was put into them, at most one piece for each that came', () => {
  for (let seed = 1; seed <= 300; seed++) {
    const random = new Random(seed)
    const { body, wire } = someChunks(random)
    const told = new Told()
    const most = random.pick([2, 50, 1_000, 100_000])
    let pushes = 0
    for (let at = 0; at < wire.length; pushes++) {
      const end = at + random.between(1, most)
      told.push(wire.subarray(at, end))
      at = end
    }
    const { isOver, isKept } = told.reader
    expect({ seed, isSame: told.body.equals(body), isOver, isKept }).toEqual({
      seed,
      isSame: true,
      isOver: true,
      isKept: true,
    })
    expect(told.pieces.length).toBeLessThanOrEqual(pushes)
  }
})
