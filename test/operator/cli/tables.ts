import { SQL } from 'bun'

/** A connection of a test's own, for what no command tells. */
export const lookInto = (url: string): SQL => new SQL({ url, max: 2, bigint: false })

/** What commands show of an address. */
export const placeIn = (url: string): string => `${new URL(url).host}${new URL(url).pathname}`
