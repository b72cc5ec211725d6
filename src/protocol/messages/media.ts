/** The data of a `data:` URL as this dialect has it; undefined for anything else. */
export function dataSource(url: string | undefined): Readonly<Record<string, unknown>> | undefined {
  const [, type, data] = /^data:([^;,]+)(?:;[^;,]*)*;base64,(.*)$/is.exec(url ?? '') ?? []
  return type === undefined ? undefined : { type: 'base64', media_type: type.toLowerCase(), data }
}

export const mediaSource = (url: string): Readonly<Record<string, unknown>> => dataSource(url) ?? { type: 'url', url }
