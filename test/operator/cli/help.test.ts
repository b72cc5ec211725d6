import { describe, expect, test } from 'bun:test'
import { readArguments } from '../../../src/cli/arguments.ts'
import type { Command } from '../../../src/cli/command.ts'
import { COMMANDS } from '../../../src/cli/commands.ts'
import { findCommand, isGroup } from '../../../src/cli/find-command.ts'
import { run, shell } from './run.ts'

const ALL: [name: string, command: Command][] = Object.entries(COMMANDS).flatMap(([name, entry]) =>
  isGroup(entry)
    ? Object.entries(entry.commands).map(([inner, command]): [string, Command] => [`${name} ${inner}`, command])
    : [[name, entry] as [string, Command]],
)
const GROUPS = Object.entries(COMMANDS).flatMap(([name, entry]) => (isGroup(entry) ? [{ name, entry }] : []))

describe('help', () => {
  test('there is every command that operators and their scripts rely on', () => {
    const promised = `start, keys create, keys list, keys revoke, accounts create, accounts list, accounts topup, usage,
      models, channels test, ledger verify, doctor, sandbox`
    for (const name of promised.split(/,\s+/)) expect(ALL.map(([known]) => known)).toContain(name)
  })

  test('every command explains itself in three ways', async () => {
    await Promise.all(
      ALL.map(async ([name, command]) => {
        const words = name.split(' ')
        const asked = await Promise.all([run([...words, '--help']), run([...words, '-h']), run(['help', ...words])])
        for (const { code, out, err } of asked) {
          expect([code, err]).toEqual([0, ''])
          expect(out).toStartWith(`Usage: duet ${name}`)
          for (const option of Object.keys(command.options ?? {})) expect(out).toContain(`  --${option} `)
          for (const example of command.examples) expect(out).toContain(example)
          expect(out).toBe(asked[0]?.out ?? '')
        }
      }),
    )
  }, 60_000)

  test('every group lists its commands', async () => {
    for (const { name, entry } of GROUPS) {
      for (const words of [
        [name, '--help'],
        [name, '-h'],
        [name, 'help'],
        ['help', name],
      ]) {
        const { code, out } = await run(words)
        expect(code).toBe(0)
        for (const command of Object.keys(entry.commands)) expect(out).toContain(`\n  ${command} `)
        expect(out.includes(`duet ${name} alone is duet ${name} list.`)).toBe('list' in entry.commands)
      }
    }
  }, 30_000)

  test('fits into a terminal', async () => {
    for (const words of [[], ...ALL.map(([name]) => name.split(' '))]) {
      const { out } = await run(['help', ...words])
      for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(110)
    }
  }, 30_000)

  test('its examples are understood', () => {
    for (const [name, { examples }] of ALL) {
      expect(examples.length).toBeGreaterThan(0)
      for (const example of examples) {
        const words = [...example.matchAll(/"[^"]*"|[^\s()]+/g)].map(([word]) => word)
        const args = words.slice(words.indexOf('duet') + 1).map(word => word.replaceAll('"', ''))
        const found = findCommand(args)
        expect(found.name).toBe(name)
        expect(readArguments(found.rest, found.command)).toBeDefined()
      }
    }
  })

  test('is data with --json, and names with --quiet', async () => {
    const { commands } = JSON.parse((await run(['help', '--json'])).out)
    expect(commands.map(({ name }: { name: string }) => name)).toEqual(ALL.map(([name]) => name))
    const [cap] = JSON.parse((await run(['help', 'keys', 'cap', '--json'])).out).commands
    expect(cap).toMatchObject({ name: 'keys cap', usage: 'duet keys cap <key> <cap>' })
    expect((await run(['help', 'ledger', '--quiet'])).out).toBe('ledger verify\n')
  })

  test('the version is data too', async () => {
    const { version } = JSON.parse((await run(['version', '--json'])).out)
    expect((await run(['version', '--quiet'])).out).toBe(`${version}\n`)
  })
})

describe('what is mistyped', () => {
  const MISTAKES: [words: string, message: string, help: string][] = [
    ['acounts list', 'there is no command "acounts"; did you mean "duet accounts"?', 'Usage: duet [command]'],
    ['dokter', 'there is no command "dokter"; did you mean "duet doctor"?', 'Usage: duet [command]'],
    ['constructor', 'there is no command "constructor"', 'Usage: duet [command]'],
    ['accounts crate', 'there is no command "accounts crate"; did you mean "duet accounts create"?', '  topup '],
    ['keys ls', 'there is no command "keys ls"; did you mean "duet keys list"?', '  revoke '],
    ['help acounts', 'there is no command "acounts"; did you mean "duet accounts"?', 'Usage: duet [command]'],
    ['help keys revok', 'there is no command "keys revok"; did you mean "duet keys revoke"?', '  revoke '],
    ['ledger', 'which command of "ledger"?', 'Usage: duet ledger <command>'],
    ['ledger --json=1', 'which command of "ledger"?', 'Usage: duet ledger <command>'],
    ['keys --json=1', '--json takes no value', 'Usage: duet keys list [options]'],
    ['accounts show', '<account> is missing', 'Usage: duet accounts show <account>'],
    ['accounts topup default', '<amount> is missing', 'Usage: duet accounts topup <account> <amount> [options]'],
    ['accounts show a b', '"b" is one argument too many', 'Usage: duet accounts show <account>'],
    ['keys create', '--name <name> is missing', 'Usage: duet keys create --name <name> [options]'],
    ['keys create --nam ci', 'there is no option --nam; did you mean --name?', 'Usage: duet keys create'],
    ['keys create --name', '--name needs a value: --name <name>', 'Usage: duet keys create'],
    ['keys create --name --cap 5', '--name needs a value: --name <name>', 'Usage: duet keys create'],
    ['keys create -n ci', 'there is no option -n', 'Usage: duet keys create'],
    ['models --constructor x', 'there is no option --constructor', 'Usage: duet models'],
    ['models --quiet=yes', '--quiet takes no value', 'Usage: duet models'],
    ['start now', '"now" is one argument too many', 'Usage: duet start [options]'],
    ['--prot 8080', 'there is no option --prot; did you mean --port?', 'Usage: duet start [options]'],
  ]
  for (const [words, message, help] of MISTAKES) {
    test(`duet ${words}`, async () => {
      const { code, out, err } = await run(words.split(' '))
      expect([code, out]).toEqual([2, ''])
      expect(err.split('\n')[0]).toBe(`duet: ${message}`)
      expect(err).toContain(help)
    })
  }

  test('an empty argument is a missing one: scripts forget to set variables', async () => {
    const { code, err } = await shell('duet accounts show "$NOT_SET"')
    expect(code).toBe(2)
    expect(err).toStartWith('duet: <account> is missing\n')
  })

  test('is one line of JSON for scripts', async () => {
    for (const words of [
      ['acounts', '--json'],
      ['--json', 'ledger'],
      ['keys', 'create', '--json'],
    ]) {
      const { code, out, err } = await run(words)
      expect([code, out]).toEqual([2, ''])
      expect(JSON.parse(err)).toEqual({ error: { code: 'usage', message: expect.any(String) } })
    }
  })
})
