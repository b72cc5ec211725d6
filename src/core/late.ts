/**
 * Parts of the runtime that most calls do without, loaded when they are first needed. Imported, they and what they need
 * themselves would take more than a tenth of a start, and 2 MB from then on.
 */
export const late = {
  get crypto() {
    return process.getBuiltinModule('node:crypto')
  },
  get stream() {
    return process.getBuiltinModule('node:stream')
  },
  get zlib() {
    return process.getBuiltinModule('node:zlib')
  },
}
