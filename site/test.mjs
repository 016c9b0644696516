// Looks at the built site in a browser: node test.mjs [PAGE...]. Every page must show what its source has: lists, headings, diagrams and
// code; fit a phone; load nothing from elsewhere; and have no serious accessibility problem.
import { createServer } from 'node:http'
import { readFileSync, readdirSync, existsSync } from 'node:fs'
import { dirname, join, extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import MarkdownIt from 'markdown-it'
import puppeteer from 'puppeteer-core'

const site = dirname(fileURLToPath(import.meta.url))
const docs = join(dirname(site), 'docs')
const built = join(dirname(site), 'dist', 'site')
const axe = readFileSync(join(site, 'node_modules/axe-core/axe.min.js'), 'utf8')
const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.json': 'application/json', '.woff2': 'font/woff2' }

const server = createServer((request, response) => {
  const path = decodeURIComponent(new URL(request.url, 'http://localhost').pathname)
  const file = join(built, path.endsWith('/') ? path + 'index.html' : path)
  if (!file.startsWith(built) || !existsSync(file)) return response.writeHead(404).end()
  response.writeHead(200, { 'Content-Type': types[extname(file)] ?? 'application/octet-stream' }).end(readFileSync(file))
})

// expected is what the source of a page has, by a parser of CommonMark that the site does not configure.
function expected(page) {
  const text = readFileSync(join(docs, page), 'utf8').replace(/^<!--.*-->$/gm, '')
  const found = { items: [], headings: 0, diagrams: 0, code: 0, tables: 0 }
  let depth = 0
  for (const token of new MarkdownIt({ html: false }).parse(text, {})) {
    if (/_list_open$/.test(token.type)) depth++
    if (/_list_close$/.test(token.type)) depth--
    if (token.type === 'list_item_open') found.items.push(depth)
    if (token.type === 'heading_open') found.headings++
    if (token.type === 'table_open') found.tables++
    if (token.type === 'fence' || token.type === 'code_block') token.info.startsWith('mermaid') ? found.diagrams++ : found.code++
  }
  return found
}

// shown is what the browser shows of a page.
function shown() {
  const content = document.querySelector('.vp-doc')
  const depth = (item) => { let n = 0; for (let e = item; e !== content; e = e.parentElement) if (/^[OU]L$/.test(e.tagName)) n++; return n }
  const all = (selector) => [...content.querySelectorAll(selector)]
  const anchors = new Set([...document.querySelectorAll('[id]')].map((e) => e.id))
  return {
    items: all('li').map(depth), headings: all('h1,h2,h3,h4,h5,h6').length, diagrams: all('.mermaid svg').length, code: all('div[class*=language-] pre').length, tables: all('table').length,
    copy: all('div[class*=language-] button.copy').length,
    lost: all('a[href^="#"]').map((a) => decodeURIComponent(a.getAttribute('href').slice(1))).filter((id) => !anchors.has(id)),
    wide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
    dark: document.querySelectorAll('.VPSwitchAppearance').length > 0,
  }
}

function pages(folder = '') {
  return readdirSync(join(docs, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder ? `${folder}/${entry.name}` : entry.name
    if (entry.isDirectory()) return path === 'reference/generate' ? [] : pages(path)
    return path.endsWith('.md') ? [path] : []
  })
}

const problems = []
const report = (page, text) => { problems.push(`${page}: ${text}`) }

await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
const address = `http://127.0.0.1:${server.address().port}`
const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] })
try {
  const given = process.argv.slice(2)
  const all = given.length ? given : pages()
  const tab = await browser.newPage()
  let current = ''
  tab.on('request', (request) => { if (!request.url().startsWith(address) && !request.url().startsWith('data:')) report(current, `loads ${request.url()}`) })
  tab.on('response', (response) => { if (response.status() >= 400) report(current, `${response.url()} answers ${response.status()}`) })
  tab.on('pageerror', (error) => report(current, `throws ${error}`))
  for (const page of all) {
    current = page
    const want = expected(page)
    for (const [width, height] of [[1280, 900], [390, 844]]) {
      await tab.setViewport({ width, height })
      await tab.goto(`${address}/${page.replace(/README\.md$/, 'index.md').replace(/\.md$/, '.html')}`, { waitUntil: 'load' })
      await tab.waitForSelector('.vp-doc')
      if (want.diagrams) await tab.waitForFunction((n) => document.querySelectorAll('.vp-doc .mermaid svg').length >= n, { timeout: 20000 }, want.diagrams).catch(() => {})
      const have = await tab.evaluate(shown)
      for (const what of ['headings', 'diagrams', 'code', 'tables']) if (have[what] !== want[what]) report(page, `${what}: ${have[what]}, the source has ${want[what]}`)
      if (have.copy !== have.code) report(page, `${have.copy} of ${have.code} blocks can be copied`)
      if (have.items.join() !== want.items.join()) report(page, `the items of lists have the depths ${have.items}, in the source ${want.items}`)
      if (have.lost.length) report(page, `no anchors: ${have.lost}`)
      if (have.wide) report(page, `is wider than ${width} pixels`)
      if (!have.dark) report(page, 'has no switch for dark mode')
    }
    await tab.evaluate(axe)
    for (const violation of (await tab.evaluate(() => axe.run('.vp-doc', { rules: { 'color-contrast': { enabled: true } } }))).violations) {
      if (['serious', 'critical'].includes(violation.impact)) report(page, `${violation.id}: ${violation.help}: ${violation.nodes[0].html.slice(0, 120)}`)
    }
  }
  await tab.setViewport({ width: 1280, height: 900 })
  current = 'search'
  await tab.goto(`${address}/index.html`, { waitUntil: 'load' })
  await tab.waitForFunction(() => document.querySelector('#app').__vue_app__) // before that, nothing listens to keys
  await tab.keyboard.press('/')
  await tab.waitForSelector('.VPLocalSearchBox input')
  await tab.type('.VPLocalSearchBox input', 'clusterset IP')
  await tab.waitForSelector('.VPLocalSearchBox .result', { timeout: 20000 }).catch(() => report(current, 'finds nothing'))
  console.log(`${all.length} pages, ${problems.length} problems`)
} finally {
  await browser.close()
  server.close()
}
for (const problem of [...new Set(problems)]) console.log(problem)
process.exit(problems.length ? 1 : 0)
