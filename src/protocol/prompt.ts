import type { Source, TextSize } from '../core/source.ts'

/** What a model reads; the rest of a request is switches, and must not make a stream cost more than a whole answer. */
const READ_BY_MODEL = new Set(['messages', 'system', 'tools', 'functions', 'response_format', 'output_config'])

const isRead = (key: string): boolean => READ_BY_MODEL.has(key)

export const promptSize = (source: Source): TextSize => source.sizeOf(isRead)
