/** A request that the vendor turns down; each dialect writes it in its native error shape. */
export class Refusal extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export function badRequest(message: string): Refusal {
  return new Refusal(400, message)
}
