import type { List, ModelView } from '../admin/contract.ts'
import { apiOf } from './api.ts'
import type { Run } from './command.ts'
import { rows } from './rows.ts'
import type { Column } from './table.ts'

const COLUMNS: readonly Column<ModelView>[] = [
  { title: 'ID', cell: ({ id }) => id },
  // What nobody has priced is refused: the one thing here that an operator must not overlook.
  { title: 'INPUT', kind: 'amount', cell: ({ price }) => (price ? price.input : 'no price') },
  { title: 'OUTPUT', kind: 'amount', cell: ({ price }) => price?.output },
  { title: 'CACHE READ', kind: 'amount', cell: ({ price }) => price?.cache_read },
  { title: 'CACHE WRITE', kind: 'amount', cell: ({ price }) => price?.cache_write },
  { title: 'VERSION', kind: 'number', cell: ({ price }) => price?.version },
  { title: 'CONTEXT', kind: 'number', cell: ({ context_length }) => context_length },
  { title: 'MAX OUTPUT', kind: 'number', cell: ({ max_output_tokens }) => max_output_tokens },
  { title: 'ORIGIN', cell: ({ origin, enabled }) => (enabled ? origin : `${origin} (off)`) },
  { title: 'CHANNELS', cell: ({ channels }) => channels.join(', ') || 'none' },
]

export const models: Run = async (_, context) => {
  const found = await apiOf(context).get<List<ModelView>>('/models')
  rows(found, { what: 'models', id: ({ id }) => id, columns: COLUMNS }, context.out)
}
