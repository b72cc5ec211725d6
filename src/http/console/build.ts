import { serialize } from 'bun:jsc'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { ASSETS, type Asset, type Bundle } from './bundle.ts'
import { joinStyles } from './styles.ts'

const FOLDER = join(import.meta.dir, '../../../console')
/** As `index.html` names them. */
const SCRIPTS = ['main.tsx', 'app/boot.ts']
const STYLES = 'style/index.css'
/** Above this the time grows much faster than the size shrinks. */
const BROTLI_QUALITY = 9
/** The most there is: it takes milliseconds, once. */
const GZIP_LEVEL = 9

const brotli = promisify(brotliCompress)
const zip = promisify(gzip)

/** The bundler and both compressors work on threads of their own. What runs this file is in `bundle.ts`. */
async function build(): Promise<Bundle> {
  const { success, logs, outputs } = await Bun.build({
    entrypoints: SCRIPTS.map(entry => join(FOLDER, entry)),
    root: FOLDER,
    target: 'browser',
    minify: true,
    splitting: true,
    publicPath: ASSETS,
    naming: { entry: '[name]-[hash].[ext]', chunk: 'chunk-[hash].[ext]', asset: '[name]-[hash].[ext]' },
    jsx: { runtime: 'automatic', importSource: 'preact', development: false },
    define: { 'process.env.NODE_ENV': '"production"' },
    // What it would throw does not say what is wrong.
    throw: false,
  })
  if (!success) throw new Error(logs.map(log => Bun.inspect(log)).join('\n'))
  const css = await joinStyles(join(FOLDER, STYLES))
  const styleName = `style-${hashOf(css)}.css`
  const assets = await Promise.all([
    compress(styleName, { type: 'text/css; charset=utf-8', text: css }),
    ...outputs.map(async output => compress(baseName(output.path), { type: output.type, text: await output.text() })),
  ])
  const html = pointAtAssets(await Bun.file(join(FOLDER, 'index.html')).text(), [
    [STYLES, styleName],
    ...SCRIPTS.map(script => [script, nameOf(script, outputs)] as const),
  ])
  const [, page] = await compress('index.html', { type: 'text/html; charset=utf-8', text: html })
  return { html: page, etag: `"${hashOf(html)}"`, assets: new Map(assets) }
}

/** The page names sources, so that it reads like any page; browsers get what was made of them. */
function pointAtAssets(html: string, names: readonly (readonly [source: string, asset: string])[]): string {
  return names.reduce((page, [source, asset]) => page.replaceAll(`./${source}`, ASSETS + asset), html)
}

function nameOf(script: string, outputs: readonly Bun.BuildArtifact[]): string {
  const stem = baseName(script).replace(/\.\w+$/, '-')
  const entry = outputs.find(({ kind, path }) => kind === 'entry-point' && baseName(path).startsWith(stem))
  if (!entry) throw new Error(`the bundle has nothing for ${script}`)
  return baseName(entry.path)
}

async function compress(name: string, { type, text }: { type: string; text: string }): Promise<[string, Asset]> {
  const plain = new TextEncoder().encode(text)
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
    [constants.BROTLI_PARAM_SIZE_HINT]: plain.byteLength,
  }
  const [br, gzip] = await Promise.all([brotli(plain, { params }), zip(plain, { level: GZIP_LEVEL })])
  return [name, { type, plain, br: new Uint8Array(br), gzip: new Uint8Array(gzip) }]
}

const hashOf = (text: string) => Bun.hash(text).toString(36)

const baseName = (path: string) => path.slice(path.lastIndexOf('/') + 1)

try {
  await Bun.write(Bun.stdout, serialize(await build()))
} catch (error) {
  // The message alone: where in this process it was thrown tells an operator nothing.
  process.stderr.write(error instanceof Error ? error.message : String(error))
  process.exitCode = 1
}
