/** One JSON object a line: for answers that take their time. */
export const NDJSON = 'application/x-ndjson'
