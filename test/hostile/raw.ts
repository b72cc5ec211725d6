import { connect, type Socket } from 'node:net'

/** A connection that says exactly what it is told to, and reads only while it is told to. */
export class RawConnection {
  /** Everything that came so far, a character a byte. */
  received = ''
  isClosed = false
  private readonly socket: Socket
  private isReading = true
  private readonly changes = new EventTarget()

  static open(url: string): Promise<RawConnection> {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    return new Promise((resolve, reject) => {
      socket.once('error', reject)
      socket.once('connect', () => resolve(new RawConnection(socket)))
    })
  }

  private constructor(socket: Socket) {
    this.socket = socket
    socket.removeAllListeners('error')
    socket.on('error', () => {})
    socket.on('data', data => {
      this.received += data.toString('latin1')
      if (!this.isReading) socket.pause()
      this.changed()
    })
    socket.on('close', () => {
      this.isClosed = true
      this.changed()
    })
  }

  send(bytes: string): void {
    this.socket.write(bytes, 'latin1')
  }

  /** What has come once this was among it, or nothing more will. */
  async until(said: string): Promise<string> {
    while (!this.received.includes(said) && !this.isClosed) await this.change()
    return this.received
  }

  /** All of it, once the other side has closed the connection. */
  async ended(): Promise<string> {
    while (!this.isClosed) await this.change()
    return this.received
  }

  /** Takes nothing more: what comes stays where it is, and the other side is not told. */
  stopReading(): void {
    this.isReading = false
    this.socket.pause()
  }

  /** As much as lies ready, and then no more. */
  sip(): void {
    this.isReading = false
    this.socket.resume()
  }

  close(): void {
    this.socket.destroy()
  }

  private changed(): void {
    this.changes.dispatchEvent(new Event('change'))
  }

  private change(): Promise<void> {
    return new Promise(resolve => this.changes.addEventListener('change', () => resolve(), { once: true }))
  }
}
