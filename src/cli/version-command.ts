import { VERSION } from '../version.ts'
import type { Run } from './command.ts'

export const version: Run = async (_, { out }) =>
  out.result({ json: { version: VERSION }, quiet: [VERSION], text: () => VERSION })
