import { describe, expect, test } from 'bun:test'
import { Recording } from '../../src/gateway/recording.ts'
import { Room } from '../../src/gateway/room.ts'
import { Tape } from '../../src/gateway/tape.ts'

const KB = 1024

/** A source that says how much of it was read. */
class Source {
  read = 0
  isCancelled = false
  readonly stream: ReadableStream<Uint8Array>

  constructor(pieces: number, bytes: number, ending: 'end' | 'break' = 'end') {
    this.stream = new ReadableStream<Uint8Array>(
      {
        pull: controller => {
          if (this.read < pieces) controller.enqueue(new Uint8Array(bytes).fill(this.read++))
          else if (ending === 'end') controller.close()
          else controller.error(new Error('the line broke'))
        },
      },
      { highWaterMark: 0 },
    )
  }
}

const OWNER = 'one key'

const recordingOf = (bytesMax: number, room = new Room(bytesMax * 10)) =>
  new Recording({ bytesMax, room, owner: OWNER })

const here = () => new AbortController()

async function readAll(stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  return new Uint8Array(await new Response(stream).arrayBuffer())
}

/** Lets everything happen that can happen by itself. */
const settle = () => Bun.sleep(5)

const counted = (pieces: number, bytes: number) =>
  Buffer.concat(Array.from({ length: pieces }, (_, place) => new Uint8Array(bytes).fill(place)))

describe('a tape', () => {
  test('gives back what was written, whatever the sizes of pieces, from any place', () => {
    const tape = new Tape()
    const written: Buffer[] = []
    for (const size of [1, 4095, 4096, 4097, 0, 70_000, 3, 200_000, 1]) {
      const piece = Buffer.from(crypto.getRandomValues(new Uint8Array(Math.min(size, 65_536))))
      written.push(piece)
      tape.write(piece)
    }
    const all = Buffer.concat(written)
    expect(tape.end).toBe(all.byteLength)
    expect(Buffer.concat(tape.all())).toEqual(all)
    for (const start of [0, 1, 5000, 66_000, all.byteLength]) expect(readFrom(tape, start)).toEqual(all.subarray(start))
  })

  test('gives what is left after its beginning was dropped', () => {
    const tape = new Tape()
    const all = Buffer.from(crypto.getRandomValues(new Uint8Array(50_000)))
    tape.write(all)
    tape.dropBefore(30_000)
    expect(readFrom(tape, 30_000)).toEqual(all.subarray(30_000))
    expect(Buffer.concat(tape.all()).byteLength).toBeLessThan(30_000)
    tape.dropBefore(50_000)
    expect(tape.all()).toEqual([])
    tape.write(all)
    expect(readFrom(tape, 50_000)).toEqual(all)
  })
})

function readFrom(tape: Tape, start: number): Buffer {
  const pieces: Uint8Array[] = []
  for (let place = start, piece = tape.read(place); piece; piece = tape.read(place)) {
    pieces.push(piece)
    place += piece.byteLength
  }
  return Buffer.concat(pieces)
}

describe('a recording within its limits', () => {
  test('is read to its end with nobody there, and gives all of it to whoever comes later', async () => {
    const recording = recordingOf(100 * KB)
    const source = new Source(50, KB)
    await recording.fill(source.stream)
    expect(source.read).toBe(50)
    for (const reader of [recording.join(here().signal), recording.join(here().signal)]) {
      expect(Buffer.from(await readAll(reader.stream()))).toEqual(counted(50, KB))
    }
    expect(recording.abandoned.aborted).toBe(false)
  })

  test('gives all of it to those who come before, during and after', async () => {
    const recording = recordingOf(100 * KB)
    const before = readAll(recording.join(here().signal).stream())
    recording.add(new Uint8Array(KB).fill(0))
    const during = readAll(recording.join(here().signal).stream())
    await settle()
    recording.add(new Uint8Array(KB).fill(1))
    recording.end()
    const after = readAll(recording.join(here().signal).stream())
    for (const read of await Promise.all([before, during, after])) expect(Buffer.from(read)).toEqual(counted(2, KB))
  })

  test('goes on when all readers have left', async () => {
    const recording = recordingOf(100 * KB)
    const client = here()
    recording.join(client.signal)
    client.abort()
    await recording.fill(new Source(50, KB).stream)
    expect(recording.abandoned.aborted).toBe(false)
    expect(recording.completed(new Uint8Array())?.byteLength).toBe(50 * KB)
  })

  test('is complete with its last piece, unless that is too much', () => {
    const recording = recordingOf(2 * KB)
    recording.add(new Uint8Array(KB).fill(0))
    expect(recording.completed(new Uint8Array(KB).fill(1))).toEqual(counted(2, KB))
    expect(recording.completed(new Uint8Array(KB + 1))).toBeUndefined()
  })

  test('that breaks breaks for its readers, after all that came', async () => {
    const recording = recordingOf(100 * KB)
    const stream = recording.join(here().signal).stream()
    await recording.fill(new Source(3, KB, 'break').stream)
    const reader = stream.getReader()
    const first = await reader.read()
    expect(Buffer.from(first.value ?? [])).toEqual(counted(3, KB))
    expect(reader.read()).rejects.toThrow('the line broke')
  })
})

describe('a recording that outgrows its limits', () => {
  test('is read no faster than its slowest reader, who gets all of it', async () => {
    const recording = recordingOf(10 * KB)
    const source = new Source(100, KB)
    const fast = readAll(recording.join(here().signal).stream())
    const slow = recording.join(here().signal).stream().getReader()
    const filled = recording.fill(source.stream)
    await settle()
    expect(recording.isKept).toBe(false)
    expect(source.read).toBe(11)

    const got: Uint8Array[] = []
    const { value } = await slow.read()
    got.push(value ?? new Uint8Array())
    await settle()
    expect(source.read).toBeLessThan(20)

    for (let read = await slow.read(); read.value; read = await slow.read()) got.push(read.value)
    await filled
    expect(Buffer.concat(got)).toEqual(counted(100, KB))
    expect(Buffer.from(await fast)).toEqual(counted(100, KB))
    expect(recording.completed(new Uint8Array())).toBeUndefined()
  })

  test('does not wait for a reader who has left', async () => {
    const recording = recordingOf(10 * KB)
    const client = here()
    recording.join(client.signal)
    const stays = readAll(recording.join(here().signal).stream())
    const filled = recording.fill(new Source(100, KB).stream)
    await settle()
    client.abort()
    await filled
    expect(Buffer.from(await stays)).toEqual(counted(100, KB))
    expect(recording.abandoned.aborted).toBe(false)
  })

  test('is given up when the last reader leaves, and when there is none', async () => {
    const recording = recordingOf(10 * KB)
    const client = here()
    recording.join(client.signal)
    const filled = recording.fill(new Source(20, KB).stream)
    await settle()
    expect(recording.abandoned.aborted).toBe(false)
    client.abort()
    expect(recording.abandoned.aborted).toBe(true)
    await filled

    const unread = recordingOf(10 * KB)
    await unread.fill(new Source(20, KB).stream)
    expect(unread.abandoned.aborted).toBe(true)
  })
})

/** One owner alone has half of a room. */
const roomFor = (bytes: number) => new Room(2 * bytes)

describe('room that recordings share', () => {
  test('is given back by a recording that is over, once nobody reads it', async () => {
    const room = roomFor(10 * KB)
    const first = recordingOf(10 * KB, room)
    const reader = first.join(here().signal)
    await first.fill(new Source(10, KB).stream)
    expect(first.isKept).toBe(true)
    expect(room.take(OWNER, 1)).toBe(false)
    await readAll(reader.stream())
    expect(room.take(OWNER, 10 * KB)).toBe(true)
  })

  test('is given back by one that outgrew its limits, as its readers move on', async () => {
    const room = roomFor(10 * KB)
    const recording = recordingOf(5 * KB, room)
    const stream = recording.join(here().signal).stream()
    const filled = recording.fill(new Source(20, KB).stream)
    await settle()
    expect(room.take(OWNER, 6 * KB)).toBe(false)
    await Promise.all([readAll(stream), filled])
    expect(room.take(OWNER, 10 * KB)).toBe(true)
  })

  test('that is used up leaves a recording a window', async () => {
    const room = roomFor(2 * KB)
    const recording = recordingOf(10 * KB, room)
    const stream = recording.join(here().signal).stream()
    const filled = recording.fill(new Source(5, KB).stream)
    expect(Buffer.from(await readAll(stream))).toEqual(counted(5, KB))
    await filled
    expect(recording.isKept).toBe(false)
    expect(room.take(OWNER, 2 * KB)).toBe(true)
  })

  test('may be taken beforehand, and is taken once', async () => {
    const room = roomFor(10 * KB)
    const recording = recordingOf(10 * KB, room)
    recording.reserve(10 * KB)
    expect(room.take(OWNER, 1)).toBe(false)
    const reader = recording.join(here().signal)
    await recording.fill(new Source(10, KB).stream)
    expect(recording.isKept).toBe(true)
    reader.leave()
    expect(room.take(OWNER, 10 * KB)).toBe(true)
  })
})

describe('the owners of a room', () => {
  test('have no more than what is still free: half for the first, half of the rest for the next, and so on', () => {
    const taken = (room: Room, owner: string) => {
      let bytes = 0
      while (room.take(owner, 1)) bytes++
      return bytes
    }
    const room = new Room(1200)
    expect(['a', 'b', 'c', 'd'].map(owner => taken(room, owner))).toEqual([600, 300, 150, 75])
    expect(taken(room, 'a')).toBe(0)
    room.giveBack('a', 600)
    expect(taken(room, 'a')).toBeGreaterThan(300)
  })

  test('have what they have after a count, and the others nothing', () => {
    const room = new Room(1200)
    expect(room.take('a', 600)).toBe(true)
    room.recount(new Map([['b', 400]]))
    expect([room.take('b', 1), room.take('a', 400), room.take('a', 1)]).toEqual([true, false, true])
  })
})

describe('a reader', () => {
  test('is over when it has read all, and when it leaves; the last one to go is told', async () => {
    const recording = recordingOf(100 * KB)
    const [patient, leaving] = [recording.join(here().signal), recording.join(here().signal)]
    let isUnread = false
    recording.unread.then(() => {
      isUnread = true
    })
    await recording.fill(new Source(3, KB).stream)
    leaving.leave()
    expect(await leaving.over).toBe('left')
    expect(isUnread).toBe(false)
    await readAll(patient.stream())
    expect(await patient.over).toBe('read')
    await recording.unread
  })
})
