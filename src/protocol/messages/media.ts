/** The data of a `data:` URL as this dialect has it; undefined for anything else. */
export function dataSource(url: string | undefined): Readonly<Record<string, unknown>> | undefined {
  const data = /^data:([^;,]+);base64,(.*)$/s.exec(url ?? '')
  return data ? { type: 'base64', media_type: data[1], data: data[2] } : undefined
}

export const mediaSource = (url: string): Readonly<Record<string, unknown>> => dataSource(url) ?? { type: 'url', url }
