/** Lets everything that waits have its turn first. Not a timer: it takes as long as the others take. */
export const endOfTurn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))
