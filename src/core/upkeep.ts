/** What a store needs done now and then; a store that needs nothing has no such thing. */
export interface Upkeep {
  /** To be called every hour or so, by any number of processes. Returns what was done, in words for a log. */
  keepUp(): Promise<readonly string[]>
}
