import { describe, expect, test } from 'bun:test'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { readConfig } from '../../src/config/config.ts'
import { EDGE_LIMITS } from '../../src/http/limits.ts'
import { type JsonBody, newFolder } from '../support/duet.ts'

const ROOT = join(import.meta.dir, '../..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const parse = (path: string): JsonBody => Bun.YAML.parse(read(path))
const all = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, part = '']) => part)
const filesIn = (pattern: string): string[] => [...new Bun.Glob(pattern).scanSync({ cwd: ROOT, dot: true })]

const MANIFEST = JSON.parse(read('package.json'))
const DRAIN_SECONDS = readConfig({}).drainSeconds
/** What a stop takes beyond that: those that are cut have 5 s, and then everything is written down. */
const AFTER_DRAIN_SECONDS = 10

describe('everything that deploys Duet', () => {
  test('sets only variables that Duet reads', () => {
    const code = ['src/config/*.ts', 'src/cli/server.ts'].flatMap(filesIn).map(read).join('\n')
    const known = new Set(all(code, /\b(DUET_[A-Z_]+)\b/g))
    const files = [...filesIn('deploy/**/*'), ...filesIn('docs/deploy/*.md')]
    const unknown = files.flatMap(file =>
      all(read(file), /\b(DUET_[A-Z_]+)\b/g)
        .filter(name => !known.has(name.replace(/_FILE$/, '')))
        .map(name => `${file}: ${name}`),
    )
    expect(files.length).toBeGreaterThan(20)
    expect(unknown).toEqual([])
  })

  test('is of the version that it deploys', () => {
    const { version } = MANIFEST
    expect(all(read('deploy/Dockerfile'), /^ARG VERSION=(.+)$/gm)).toEqual([version])
    expect(parse('deploy/helm/duet/Chart.yaml')).toMatchObject({ version, appVersion: version })
  })
})

describe('the image', () => {
  const dockerfile = read('deploy/Dockerfile')

  test('starts the runtime with the settings of bin/duet', () => {
    const script = read('bin/duet')
    const flags = all(script, /^exec "\$bun" (.+) "\$root\//gm)
    expect(all(read('deploy/duet'), /^#!\/usr\/local\/bin\/bun (.+)\n/g)).toEqual(flags)
    const requests = all(script, /BUN_CONFIG_MAX_HTTP_REQUESTS:-(\d+)/g)
    expect(all(dockerfile, /BUN_CONFIG_MAX_HTTP_REQUESTS=(\d+)/g)).toEqual(requests)
  })

  test('has an entry point that needs no shell', async () => {
    const path = join(newFolder(), 'duet')
    const launcher = read('deploy/duet').replace('/usr/local/bin/bun', process.execPath).replace('/app/', `${ROOT}/`)
    writeFileSync(path, launcher)
    chmodSync(path, 0o755)
    const child = Bun.spawn([path, 'version'], { env: {}, stdout: 'pipe' })
    expect((await new Response(child.stdout).text()).trim()).toBe(MANIFEST.version)
  })

  test('is made of files that are there, and that .dockerignore lets in', () => {
    const copies = all(dockerfile, /^COPY (?!--from)(?:--\S+ )*(.+) \S+$/gm).flatMap(sources => sources.split(' '))
    const ignored = read('.dockerignore').split('\n')
    expect(copies).toContain('src')
    expect(ignored).toContain('*')
    for (const source of copies) {
      expect(existsSync(join(ROOT, source))).toBe(true)
      expect(ignored).toContain(`!${source}`)
    }
  })

  test('installs with a Node.js that the package allows', () => {
    const [major] = all(dockerfile, /^ARG NODE=node:(\d+)-/gm)
    expect(Bun.semver.satisfies(`${major}.0.0`, MANIFEST.engines.node)).toBe(true)
  })

  test('runs as somebody, by number, and asks only whether it runs', () => {
    expect(dockerfile).toMatch(/^USER [1-9]\d+:0$/m)
    expect(dockerfile).toMatch(/^HEALTHCHECK [\s\S]*?"health", "live"/m)
  })
})

describe('compose.yaml', () => {
  const text = read('deploy/compose.yaml')
  const { services } = parse('deploy/compose.yaml')

  test('starts three replicas, which have the time they need to stop', () => {
    const { deploy, environment, stop_grace_period } = services.duet
    expect(deploy.replicas).toBe(3)
    const needed = Number(environment.DUET_DRAIN_SECONDS) + AFTER_DRAIN_SECONDS
    expect(Number.parseInt(stop_grace_period, 10)).toBeGreaterThan(needed)
    expect(Number.parseInt(services.nginx.stop_grace_period, 10)).toBeGreaterThan(needed)
  })

  test('has no secret in it, and does not start without one', () => {
    for (const name of ['POSTGRES_PASSWORD', 'DUET_SECRET', 'DUET_ADMIN_TOKEN']) {
      expect(text).toContain(`\${${name}:?`)
      expect(read('deploy/compose.env.example')).toContain(`\n${name}=\n`)
    }
  })

  test('confines every service', () => {
    for (const name of Object.keys(services)) {
      const { read_only, cap_drop, security_opt, healthcheck } = services[name]
      expect({ name, read_only, cap_drop, security_opt }).toEqual({
        name,
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      })
      expect(healthcheck.test[0]).toBe('CMD')
    }
  })
})

describe('nginx.conf', () => {
  const conf = read('deploy/nginx.conf')

  test('lets frames pass as they come, and bodies as large as Duet takes', () => {
    expect(all(conf, /^\s*proxy_buffering (\w+);/gm)).toEqual(['off'])
    const [megabytes] = all(conf, /client_max_body_size (\d+)m;/g)
    expect(Number(megabytes) * 1024 * 1024).toBeGreaterThan(EDGE_LIMITS.body.bytesMax)
  })

  test('hangs up idle connections before Duet does', () => {
    const seconds = all(conf, /^ {4}keepalive_timeout (\d+)s;/gm).map(Number)
    expect(seconds).toHaveLength(1)
    expect(seconds[0]).toBeLessThan(EDGE_LIMITS.idleSeconds)
  })

  test('sends a call again only where Duet said that it made none', () => {
    const rules = all(conf, /^\s*proxy_next_upstream (.+);/gm)
    expect(rules.filter(rule => rule.includes('non_idempotent'))).toEqual(['http_503 non_idempotent'])
  })

  test('asks nobody else after a time in which a call may have been made and cut', () => {
    const [seconds] = all(conf, /proxy_next_upstream_timeout (\d+)s;/g)
    const [drain] = all(read('deploy/compose.yaml'), /DUET_DRAIN_SECONDS: '(\d+)'/g)
    expect(Number(seconds)).toBeLessThan(Number(drain))
  })

  test('sends again what nobody has seen, and what only reads, but not for ever', () => {
    const [body = ''] = all(conf, /\$ends_here \{([\s\S]+?)\n {2}\}/g)
    const rules = [...body.matchAll(/"~(.+)" (\S+);/g)].map(([, pattern = '', value]) => ({ pattern, value }))
    const ends = (attempts: string) =>
      (rules.find(({ pattern }) => new RegExp(pattern).test(attempts))?.value ?? 'yes') === 'yes'
    expect(rules).toHaveLength(3)
    for (const seen of ['POST 442', 'POST 10', 'POST 0, 442', 'POST 0 : 442', 'POST -', 'DELETE 80']) {
      expect({ seen, ends: ends(seen) }).toEqual({ seen, ends: true })
    }
    for (const unseen of ['POST 0', 'POST 442, 0', 'POST 0 : 0', 'GET 442', `POST 0${' : 0'.repeat(7)}`]) {
      expect({ unseen, ends: ends(unseen) }).toEqual({ unseen, ends: false })
    }
    expect(ends(`POST 0${' : 0'.repeat(8)}`)).toBe(true)
    expect(ends(`GET 80${' : 80'.repeat(8)}`)).toBe(true)
  })

  test('logs neither queries nor headers of callers', () => {
    const [format = ''] = all(conf, /log_format duet ([\s\S]+?);/g)
    expect(format).toContain('$uri')
    expect(format).not.toMatch(/\$(request|request_uri|args|query_string|http_\w+|cookie_\w+|arg_\w+)\b/)
  })
})

describe('the unit of systemd', () => {
  const lines = read('deploy/duet.service').split('\n')
  const values = (name: string) => lines.filter(line => line.startsWith(`${name}=`)).map(line => line.split('=')[1])

  test('consists of sections, settings and comments', () => {
    const strange = lines.filter(line => !/^($|#|\[(Unit|Service|Install)\]$|[A-Z]\w+=)/.test(line))
    expect(strange).toEqual([])
  })

  test('gives a stop the time that it needs', () => {
    expect(Number(values('TimeoutStopSec')[0])).toBeGreaterThan(DRAIN_SECONDS + AFTER_DRAIN_SECONDS)
    expect(values('KillMode')).toEqual(['mixed'])
  })

  test('lets the runtime compile, and write where its folders are', () => {
    expect(values('MemoryDenyWriteExecute')).toEqual([])
    expect(values('ProtectSystem')).toEqual(['strict'])
    const text = lines.join('\n')
    expect(text).toContain(`DUET_DATA=/var/lib/${values('StateDirectory')[0]}`)
    expect(text).toContain(`BUN_RUNTIME_TRANSPILER_CACHE_PATH=/var/cache/${values('CacheDirectory')[0]}`)
  })
})

describe('the chart', () => {
  const folder = 'deploy/helm/duet'
  const values = parse(`${folder}/values.yaml`)

  /** Where the schema closes an object, it must know what the values have there. */
  function unlisted(value: JsonBody, schema: JsonBody, path: string): string[] {
    if (schema?.additionalProperties !== false) return []
    return Object.keys(value).flatMap(name =>
      name in schema.properties
        ? unlisted(value[name], schema.properties[name], `${path}.${name}`)
        : [`${path}.${name}`],
    )
  }

  test('has a schema that knows every value, and values for all that it knows', () => {
    const schema = JSON.parse(read(`${folder}/values.schema.json`))
    expect(unlisted(values, schema, 'values')).toEqual([])
    expect(Object.keys(schema.properties).filter(name => name !== 'global' && !(name in values))).toEqual([])
  })

  test('has examples that use values which exist', () => {
    const schema = JSON.parse(read(`${folder}/values.schema.json`))
    const examples = filesIn(`${folder}/ci/*.yaml`)
    expect(examples.length).toBeGreaterThan(2)
    for (const example of examples) expect(unlisted(parse(example), schema, basename(example))).toEqual([])
  })

  test('uses no value in its templates that is not there', () => {
    const missing = filesIn(`${folder}/templates/**/*`).flatMap(file =>
      all(read(file), /\.Values\.([\w.]+)/g).filter(path => {
        const found = path.split('.').reduce<JsonBody>((value, name) => value?.[name], values)
        return found === undefined
      }),
    )
    expect(missing).toEqual([])
  })

  test('waits as long for a stop as Duet does', () => {
    expect(values.drainSeconds).toBe(DRAIN_SECONDS)
    expect(values.terminationGracePeriodSeconds).toBeNull()
  })
})
