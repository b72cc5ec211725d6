import type { ModelView } from '../../../src/admin/contract.ts'

/** Wanted, and nobody answers for it. Only admins can tell: others are not told which channels there are. */
export const isUnserved = ({ enabled, channels }: ModelView): boolean => enabled && channels.length === 0
