import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = join(import.meta.dir, '../native')
const BUILD = join(FOLDER, 'build')
const PROGRAMS = ['mock', 'load'] as const

export type NativeProgram = (typeof PROGRAMS)[number]

export const native = (program: NativeProgram): string => join(BUILD, program)

/** Compiles what is older than its sources. */
export function buildNative(): void {
  mkdirSync(BUILD, { recursive: true })
  for (const program of PROGRAMS) {
    const source = join(FOLDER, `${program}.c`)
    const sources = [source, join(FOLDER, 'http.h')]
    if (sources.every(file => changedAt(file) < changedAt(native(program)))) continue
    const { success, stderr } = Bun.spawnSync(['cc', '-O2', '-o', native(program), source])
    if (!success) throw new Error(`${program}.c does not compile:\n${stderr.toString()}`)
  }
}

const changedAt = (file: string): number => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
