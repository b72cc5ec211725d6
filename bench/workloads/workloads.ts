import { bursts } from './bursts.ts'
import { idleMemory, memoryAfterWork } from './memory.ts'
import { PACED_STREAMS } from './paced.ts'
import { PROMPTS } from './prompts.ts'
import { FIXED_RATES } from './rates.ts'
import { smallChat } from './small-chat.ts'
import { startToFirstAnswer } from './start.ts'
import type { Workload } from './workload.ts'

export const WORKLOADS: readonly Workload[] = [
  smallChat,
  ...PROMPTS,
  bursts,
  ...FIXED_RATES,
  ...PACED_STREAMS,
  startToFirstAnswer,
  idleMemory,
  memoryAfterWork,
]
