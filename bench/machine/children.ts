/** Whatever was started and has not ended yet ends with this program, however that ends. */
const children = new Set<Bun.Subprocess>()

export function adopt<T extends Bun.Subprocess>(child: T): T {
  children.add(child)
  child.exited.then(() => children.delete(child))
  return child
}

process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))
