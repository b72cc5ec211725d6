import type { Command, Group, Option } from './command.ts'

const ACCOUNT = { name: 'account', summary: 'its id or its name' } as const
const USER = { name: 'user', summary: 'the name to sign in with, or its id' } as const
const CHANNEL = { name: 'name', summary: 'the name of a channel' } as const
const KEY_ID = { name: 'key', summary: 'its id: key_...' } as const

const PACE = {
  'max-concurrent': { value: '<number>', summary: 'requests under way at once, beyond which it gets 429 (any)' },
  'max-per-minute': { value: '<number>', summary: 'requests in any minute, beyond which it gets 429 (any)' },
} as const

const limit = (rows: string): Option => ({ value: '<rows>', summary: `at most so many rows (${rows})` })

/** What can be typed. Help, completion of names and the reading of arguments are made from this table. */
export const COMMANDS: Readonly<Record<string, Command | Group>> = {
  start: {
    summary: 'run the gateway (the default)',
    details: ['Options go before the variables of the same name. SIGTERM stops it, SIGHUP reads the file again.'],
    options: {
      port: { value: '<port>', summary: 'where to listen (DUET_PORT, 7070)' },
      host: { value: '<host>', summary: 'where to listen (DUET_HOST, 127.0.0.1)' },
      config: { value: '<file>', summary: 'models, prices and channels (DUET_CONFIG, ./duet.yaml if it exists)' },
      data: { value: '<folder>', summary: 'the folder of the database (DUET_DATA, ./data)' },
    },
    examples: ['duet', 'duet start --port 8080 --data /var/lib/duet'],
    load: async () => (await import('./start.ts')).start,
  },

  accounts: {
    summary: 'accounts and their money',
    commands: {
      create: {
        summary: 'create an account',
        arguments: [{ name: 'name', summary: 'a name that no other account has' }],
        options: {
          group: { value: '<group>', summary: 'whose channels it may use (default)' },
          balance: { value: '<dollars>', summary: 'what it starts with (0)' },
        },
        examples: ['duet accounts create team-a --balance 25'],
        load: async () => (await import('./accounts.ts')).create,
      },
      list: {
        summary: 'list accounts with their balances',
        options: { limit: limit('all') },
        examples: ['duet accounts list', 'duet accounts list --json'],
        load: async () => (await import('./accounts.ts')).list,
      },
      show: {
        summary: 'show one account',
        arguments: [ACCOUNT],
        examples: ['duet accounts show team-a'],
        load: async () => (await import('./accounts.ts')).show,
      },
      topup: {
        summary: 'add money to a balance',
        details: ['With a source, the same top-up can be sent again and is applied once.'],
        arguments: [ACCOUNT, { name: 'amount', summary: 'in dollars: 10 or 12.50' }],
        options: {
          source: { value: '<id>', summary: 'what makes it unique: the number of an invoice, say' },
          note: { value: '<text>', summary: 'for people' },
        },
        examples: [
          'duet accounts topup team-a 10',
          'duet accounts topup team-a 10 --source invoice-7 --note "by card"',
        ],
        load: async () => (await import('./accounts.ts')).topUp,
      },
      adjust: {
        summary: 'correct a balance, up or down',
        details: ['Entries are never changed: a mistake is corrected by one more.'],
        arguments: [ACCOUNT, { name: 'amount', summary: 'in dollars, with its sign: -5 or 2.50' }],
        options: {
          note: { value: '<text>', summary: 'what is corrected', isRequired: true },
          source: { value: '<id>', summary: 'what makes it unique: the same again is applied once' },
        },
        examples: ['duet accounts adjust team-a -5 --note "invoice 7 was cancelled"'],
        load: async () => (await import('./accounts.ts')).adjust,
      },
      entries: {
        summary: 'list every change of a balance, newest first',
        arguments: [ACCOUNT],
        options: { limit: limit('50') },
        examples: ['duet accounts entries team-a --limit 10'],
        load: async () => (await import('./accounts.ts')).entries,
      },
    },
  },

  keys: {
    summary: 'API keys and what they may spend',
    commands: {
      create: {
        summary: 'create a key',
        details: ['Its secret is printed once, to stdout and alone; everything else goes to stderr.'],
        options: {
          name: { value: '<name>', summary: 'what it is for', isRequired: true },
          account: { value: '<account>', summary: 'the account it spends from, by id or name (default)' },
          cap: { value: '<dollars>', summary: 'what it may spend in all (as much as the account has)' },
          expires: { value: '<when>', summary: 'from when it is refused: 30d, or 2026-12-31T00:00:00Z (never)' },
          models: { value: '<ids>', summary: 'the only models it may call: a/b,c/d (all)' },
          ...PACE,
        },
        examples: [
          'KEY=$(duet keys create --name ci)',
          'duet keys create --name ci --account team-a --cap 5 --expires 30d',
        ],
        load: async () => (await import('./keys.ts')).create,
      },
      list: {
        summary: 'list keys with what they spent',
        options: { account: { value: '<account>', summary: 'of this account only' }, limit: limit('all') },
        examples: ['duet keys list --account team-a'],
        load: async () => (await import('./keys.ts')).list,
      },
      show: {
        summary: 'show one key',
        arguments: [KEY_ID],
        examples: ['duet keys show key_0123456789'],
        load: async () => (await import('./keys.ts')).show,
      },
      cap: {
        summary: 'change what a key may spend',
        arguments: [KEY_ID, { name: 'cap', summary: 'in dollars: +10 or -2 from what it is, 50 in all, or none' }],
        examples: ['duet keys cap key_0123456789 +10', 'duet keys cap key_0123456789 none'],
        load: async () => (await import('./keys.ts')).cap,
      },
      limits: {
        summary: 'change how often a key may call',
        details: ['A limit that is not named stays as it is; "none" removes it.'],
        arguments: [KEY_ID],
        options: PACE,
        examples: [
          'duet keys limits key_0123456789 --max-concurrent 4 --max-per-minute 60',
          'duet keys limits key_0123456789 --max-per-minute none',
        ],
        load: async () => (await import('./keys.ts')).limits,
      },
      enable: {
        summary: 'let a disabled key work again',
        arguments: [KEY_ID],
        examples: ['duet keys enable key_0123456789'],
        load: async () => (await import('./keys.ts')).enable,
      },
      disable: {
        summary: 'refuse a key until it is enabled again',
        arguments: [KEY_ID],
        examples: ['duet keys disable key_0123456789'],
        load: async () => (await import('./keys.ts')).disable,
      },
      revoke: {
        summary: 'revoke a key for ever; its history stays',
        arguments: [KEY_ID],
        examples: ['duet keys revoke key_0123456789'],
        load: async () => (await import('./keys.ts')).revoke,
      },
    },
  },

  users: {
    summary: 'people who sign in to the console',
    commands: {
      list: {
        summary: 'list everyone who can sign in',
        options: { limit: limit('all') },
        examples: ['duet users list'],
        load: async () => (await import('./users.ts')).list,
      },
      invite: {
        summary: 'make a link that lets somebody in',
        details: ['The link works once. It is printed to stdout and alone; everything else goes to stderr.'],
        options: {
          role: { value: '<role>', summary: 'admin sees everything, member their own account (member)' },
          account: { value: '<account>', summary: 'an account that is there, by id or name (a new one)' },
          name: { value: '<name>', summary: 'the name to sign in with (they choose)' },
        },
        examples: ['duet users invite', 'duet users invite --role admin --account default --name ada'],
        load: async () => (await import('./users.ts')).invite,
      },
      reset: {
        summary: 'make a link that sets a new password',
        details: ['The old password works until the link is used.'],
        arguments: [USER],
        examples: ['duet users reset ada'],
        load: async () => (await import('./users.ts')).reset,
      },
      enable: {
        summary: 'let somebody sign in again',
        arguments: [USER],
        examples: ['duet users enable ada'],
        load: async () => (await import('./users.ts')).enable,
      },
      disable: {
        summary: 'sign somebody out everywhere and let them in no more',
        details: ['Their keys go on working: "duet keys disable" is for those.'],
        arguments: [USER],
        examples: ['duet users disable ada'],
        load: async () => (await import('./users.ts')).disable,
      },
    },
  },

  codes: {
    summary: 'redemption codes: money for whoever has the code, once',
    commands: {
      create: {
        summary: 'make codes',
        details: ['Codes are printed once, to stdout and alone, one a line; everything else goes to stderr.'],
        arguments: [{ name: 'amount', summary: 'what each is worth, in dollars: 10 or 12.50' }],
        options: {
          count: { value: '<number>', summary: 'how many (1)' },
          note: { value: '<text>', summary: 'for people' },
          expires: { value: '<when>', summary: 'from when it is refused: 30d, or 2026-12-31T00:00:00Z (never)' },
        },
        examples: ['duet codes create 10', 'duet codes create 5 --count 20 --note workshop --expires 30d'],
        load: async () => (await import('./codes.ts')).create,
      },
      list: {
        summary: 'list codes and who redeemed them, newest first',
        options: { limit: limit('all') },
        examples: ['duet codes list'],
        load: async () => (await import('./codes.ts')).list,
      },
      revoke: {
        summary: 'take back a code that nobody has redeemed',
        arguments: [{ name: 'code', summary: 'its id: rc_...' }],
        examples: ['duet codes revoke rc_0123456789'],
        load: async () => (await import('./codes.ts')).revoke,
      },
    },
  },

  usage: {
    summary: 'requests, their sums, or the receipt of one',
    details: [
      'Requests are listed newest first. With --by they are summed; sums are kept by the hour, so a range is',
      'widened to whole hours. With the id of a request: everything that explains its bill.',
    ],
    arguments: [{ name: 'request', summary: 'the id of one request, for its receipt', isOptional: true }],
    options: {
      account: { value: '<account>', summary: 'of this account, by id or name' },
      key: { value: '<id>', summary: 'of this key' },
      model: { value: '<id>', summary: 'of this model' },
      status: { value: '<status>', summary: 'ok, error for all but ok, or one of them: client_gone, ...' },
      since: { value: '<when>', summary: 'started since: 24h, 7d, or a time' },
      from: { value: '<when>', summary: 'the same as --since' },
      to: { value: '<when>', summary: 'started before' },
      by: { value: '<names>', summary: 'sums by day, hour, account, key, model, channel, protocol, status' },
      limit: limit('50'),
    },
    examples: [
      'duet usage --since 24h --status error',
      'duet usage --by model,day --since 7d',
      'duet usage qkzvwjfhdmxnbtrcplsg',
    ],
    load: async () => (await import('./usage.ts')).usage,
  },

  models: {
    summary: 'list the catalog with its prices, in dollars per million tokens',
    examples: ['duet models', 'duet models --quiet'],
    load: async () => (await import('./models.ts')).models,
  },

  channels: {
    summary: 'upstreams',
    commands: {
      list: {
        summary: 'list upstreams',
        examples: ['duet channels list'],
        load: async () => (await import('./channels.ts')).list,
      },
      show: {
        summary: 'show one upstream and each of its keys',
        details: ['Says of each key whether it is used, when it is tried again, and what went wrong last.'],
        arguments: [CHANNEL],
        examples: ['duet channels show acme-main'],
        load: async () => (await import('./channels.ts')).show,
      },
      test: {
        summary: 'send each upstream one tiny call in each protocol',
        details: [
          'No account is charged; the upstream may do so. With a name, what was sent is shown.',
          'Ends with 3 if a call is not answered.',
        ],
        arguments: [{ name: 'name', summary: 'one channel (all)', isOptional: true }],
        options: { model: { value: '<id>', summary: 'the model to call (the first that the channel serves)' } },
        examples: ['duet channels test', 'duet channels test acme-main --model acme/swift-2'],
        load: async () => (await import('./channels.ts')).test,
      },
      pause: {
        summary: 'send an upstream no new calls',
        details: ['It stays paused, also after a restart, until it is resumed.'],
        arguments: [CHANNEL],
        examples: ['duet channels pause acme-main'],
        load: async () => (await import('./channels.ts')).pause,
      },
      resume: {
        summary: 'use a paused upstream again',
        arguments: [CHANNEL],
        examples: ['duet channels resume acme-main'],
        load: async () => (await import('./channels.ts')).resume,
      },
    },
  },

  ledger: {
    summary: 'the books',
    commands: {
      verify: {
        summary: 'compute every charge and every balance again',
        details: [
          'Ends with 3, and names the first row that does not fit. Asks the running server; if none runs here,',
          'it opens the database itself, or asks the one of DUET_DATABASE_URL.',
        ],
        options: {
          data: { value: '<folder>', summary: 'open the database in this folder instead of asking a server' },
        },
        examples: ['duet ledger verify', 'duet ledger verify --data /backup/duet'],
        load: async () => (await import('./ledger.ts')).verifyLedger,
      },
    },
  },

  migrate: {
    summary: 'bring the database to the form that this version knows',
    details: [
      'Every start does so by itself; this does it before one, for the PostgreSQL of DUET_DATABASE_URL or the',
      'database in DUET_DATA. Replicas of the version before go on meanwhile. Of an embedded database, a copy is',
      'left beside it. There is no way back but a copy: a newer form is refused by an older version.',
    ],
    options: { check: { summary: 'only say what would be applied; ends with 3 if something would' } },
    examples: ['duet migrate', 'duet migrate --check'],
    load: async () => (await import('./migrate.ts')).migrate,
  },

  move: {
    summary: 'carry an embedded installation over to PostgreSQL',
    details: [
      'Stop the Duet that uses the folder first. Everything is moved at once and can be seen when the ledger adds up',
      'and is the same on both sides; until then, and if it is interrupted, the target stays empty. It must be empty',
      'when it begins. The folder stays as it was, and is not started any more.',
      'Others on this machine can see the words of a command: a password belongs into DUET_DATABASE_URL, not here.',
    ],
    options: {
      from: { value: '<folder>', summary: 'the folder of the embedded database (DUET_DATA, ./data)' },
      to: { value: '<address>', summary: 'postgres://user@host:5432/database (DUET_DATABASE_URL)' },
      'dry-run': { summary: 'only say how many rows there are, and whether the target could take them' },
    },
    examples: ['duet move --from ./data', 'duet move --from ./data --to postgres://duet@db.internal/duet --dry-run'],
    load: async () => (await import('./move.ts')).move,
  },

  doctor: {
    summary: 'check configuration, server, database and upstreams',
    details: ['Each channel gets a tiny call, as with "duet channels test". Ends with 3 if a check fails.'],
    examples: ['duet doctor', 'duet doctor --json'],
    load: async () => (await import('./doctor/doctor.ts')).doctor,
  },

  health: {
    summary: 'ask whether the server is healthy',
    details: [
      'Ready is a server that takes calls, live one that runs at all, though it stops or its database is away.',
      'Ends with 3 if it is not. Needs no token: it is made for probes of containers.',
    ],
    arguments: [{ name: 'what', summary: 'ready or live (ready)', isOptional: true }],
    examples: ['duet health', 'duet health live --quiet'],
    load: async () => (await import('./health.ts')).health,
  },

  sandbox: {
    summary: 'run the sandbox upstream alone',
    options: { port: { value: '<port>', summary: 'where to listen (7071)' } },
    examples: ['duet sandbox', 'duet sandbox --port 9000'],
    load: async () => (await import('./sandbox.ts')).sandbox,
  },

  version: {
    summary: 'print the version',
    examples: ['duet version'],
    load: async () => (await import('./version-command.ts')).version,
  },

  help: {
    summary: 'explain a command',
    arguments: [
      { name: 'command', summary: 'a command or a group of them', isOptional: true },
      { name: 'subcommand', summary: 'one of a group', isOptional: true },
    ],
    examples: ['duet help', 'duet help keys create'],
    load: async () => (await import('./help-command.ts')).help,
  },
}
