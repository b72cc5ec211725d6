import { start as startServer } from '../main.ts'
import { banner } from './banner.ts'
import type { Run } from './command.ts'
import { readPort } from './read.ts'

const VARIABLES = { port: 'DUET_PORT', host: 'DUET_HOST', config: 'DUET_CONFIG', data: 'DUET_DATA' } as const

export const start: Run = async (given, { env, out }) => {
  const port = given.maybe('port')
  if (port !== undefined) readPort(port)
  const overrides = Object.entries(VARIABLES).flatMap(([option, variable]) => {
    const value = given.maybe(option)
    return value === undefined ? [] : [[variable, value] as const]
  })
  await startServer({ ...env, ...Object.fromEntries(overrides) }, app =>
    out.result({
      json: {
        url: app.url,
        base_url: `${app.url}/v1`,
        key: app.firstKey ?? null,
        console_url: app.consoleUrl,
        sign_in_link: app.signInLink ?? null,
        admin_token_file: app.adminTokenPath ?? null,
        sandbox: app.isSandbox,
        notes: app.notes,
      },
      // Without it, nobody would ever learn the first key.
      quiet: app.firstKey === undefined ? [] : [app.firstKey],
      text: () => banner(app),
    }),
  )
}
