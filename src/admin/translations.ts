import { GatewayError, wireOf } from '../core/failure.ts'
import type { Preview, PreviewRequest } from '../core/preview.ts'
import { TranslationView } from './contract.ts'
import { AdminError } from './failure.ts'
import { read } from './input.ts'
import { TRANSLATION } from './input-catalog.ts'
import { ok, type Routes } from './route.ts'

export interface TranslationsDeps {
  preview(request: PreviewRequest): Preview
}

function translate(input: unknown, { preview }: TranslationsDeps): TranslationView {
  const { protocol, body, channel } = read(TRANSLATION, input)
  try {
    const { channel: chosen, upstream, isPassedOn, request, dropped } = preview({ protocol, body, channel })
    return { channel: chosen, protocol, upstream_protocol: upstream, is_passed_on: isPassedOn, request, dropped }
  } catch (error) {
    throw error instanceof GatewayError ? refused(error) : error
  }
}

/** What a caller would be told, with the status of this API. */
function refused({ failure }: GatewayError): AdminError {
  const { code, message, param } = wireOf(failure)
  return new AdminError(422, code || failure.kind, message, param === undefined ? {} : { param })
}

export const translationRoutes: Routes<TranslationsDeps> = {
  'POST /translations': {
    access: 'admin',
    summary: 'What an upstream would be sent for a request; nobody is called',
    body: TRANSLATION,
    answers: { 200: TranslationView },
    handle: async ({ json, deps }) => ok(translate(await json(), deps)),
  },
}
