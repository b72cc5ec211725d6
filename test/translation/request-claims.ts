import { CHAT_OPTION_CLAIMS } from './chat-option-claims.ts'
import { CHAT_REQUEST_CLAIMS } from './chat-request-claims.ts'
import type { Claims } from './claims.ts'
import { MESSAGES_REQUEST_CLAIMS } from './messages-request-claims.ts'

export const REQUEST_CLAIMS: Claims = { ...CHAT_REQUEST_CLAIMS, ...CHAT_OPTION_CLAIMS, ...MESSAGES_REQUEST_CLAIMS }
