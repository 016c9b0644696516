// Looks at the pages of atoll console in a browser, in a lab of three clusters: node test.mjs NAMESPACE [PICTURES]. It exports a
// Service, makes a conflict, drains and stops a cluster, and expects each page to follow by itself. Every page must fit 1280 and 390
// pixels, be readable in light and dark, have no serious accessibility problem, and load nothing from elsewhere. With a folder for
// PICTURES, it saves some there. ATOLL, ATOLL_LAB and KUBECONFIG name the program and the lab.
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import puppeteer from 'puppeteer-core'

const here = dirname(fileURLToPath(import.meta.url))
const [namespace, pictures] = process.argv.slice(2)
const { ATOLL: program, ATOLL_LAB: lab } = process.env
const axe = readFileSync(join(here, 'node_modules/axe-core/axe.min.js'), 'utf8')
const began = Date.now()
const problems = []
const say = (text) => console.log(`${((Date.now() - began) / 1000).toFixed(1)}s ${text}`)
const wrong = (text) => (problems.push(text), say(`WRONG ${text}`))
const atoll = (...args) => execFileSync(program, args, { encoding: 'utf8' })
const kubectl = (context, ...args) => execFileSync('kubectl', ['--context', context, '-n', namespace, ...args], { encoding: 'utf8' })
const service = `${namespace}/web`

const server = spawn(program, ['console', '--context', 'c1', '--context', 'c2', '--context', 'c3', '--no-browser'])
const url = await new Promise((resolve, reject) => {
  server.stdout.once('data', (text) => resolve(String(text).split('\n')[0]))
  server.stderr.once('data', (text) => reject(new Error(String(text))))
})
const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] })
const page = await browser.newPage()
let quiet = false // errors are expected
page.on('console', (m) => m.type() === 'error' && !quiet && wrong(`console: ${m.text()} ${m.location().url ?? ''}`))
page.on('pageerror', (e) => wrong(`script: ${e.message}`))
page.on('request', (r) => /^(http:\/\/127\.0\.0\.1:|data:|file:)/.test(r.url()) || wrong(`a request to ${r.url()}`))

// until waits until a function of the page returns something true, and returns it.
async function until(what, f, ...args) {
  try {
    return await (await page.waitForFunction(f, { timeout: 30_000, polling: 50 }, ...args)).jsonValue()
  } catch (e) {
    wrong(`not so: ${what} (${e.message}); the page has: ${(await page.evaluate(() => document.body.innerText)).slice(0, 2000)}`)
  }
}
const has = (text) => until(`"${text}" is shown`, (t) => document.body.innerText.includes(t), text)
const go = (hash) => page.evaluate((h) => (location.hash = h), hash)
const cell = (row, column) => until(`${row} has a cell`, (r, c) => {
  const heads = [...document.querySelectorAll('.services thead th')].map((e) => e.textContent.trim())
  const found = [...document.querySelectorAll('.services tbody tr')].find((e) => e.querySelector('th a')?.textContent === r)
  return found?.children[heads.indexOf(c)]?.textContent
}, row, column)

// look checks how a page looks in all sizes and colours.
async function look(name, quick = false) {
  for (const width of [1280, 390]) {
    await page.setViewport({ width, height: 850 })
    for (const scheme of ['light', 'dark']) {
      if (quick && (width === 390) !== (scheme === 'dark')) continue
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
      if (wide > 0) wrong(`${name} is ${wide} pixels too wide at ${width}`)
      await page.evaluate((text) => window.axe || (0, eval)(text), axe).catch(() => page.addScriptTag({ content: axe }))
      const found = await page.evaluate(async () => (await window.axe.run(document, { resultTypes: ['violations'] })).violations.filter((v) => /serious|critical/.test(v.impact)).map((v) => `${v.id}: ${v.nodes[0].html.slice(0, 200)} ${v.nodes[0].failureSummary}`))
      for (const text of found) wrong(`${name} at ${width}, ${scheme}: ${text}`)
      if (pictures && width === 1280 && { clusters: 'light', services: 'light', service: 'dark' }[name] === scheme) await page.screenshot({ path: join(pictures, `console-${name}-${scheme}.png`) })
    }
  }
  await page.setViewport({ width: 1280, height: 850 })
  say(`looked at ${name}`)
}

// filterTime makes a snapshot of 50 clusters with copies of the service of another, and returns after how many milliseconds it shows
// rows, the median time from a key to the filtered rows on the screen, and how many rows are in the document.
async function filterTime(file, services) {
  const [, head, data, tail] = readFileSync(file, 'utf8').match(/^([\s\S]*id="snapshot">)([\s\S]*?)(<\/script>[\s\S]*)$/)
  const snapshot = JSON.parse(data)
  const [cluster, row] = [snapshot.overview.clusters.find((c) => c.id === 'c3'), snapshot.services[service]]
  const ids = Array.from({ length: 50 }, (_, i) => `c${i + 1}`)
  const of = (cell) => Object.fromEntries(ids.map((id) => [id, cell]))
  snapshot.overview.clusters = ids.map((id) => ({ ...cluster, id }))
  snapshot.services = Object.fromEntries(Array.from({ length: services }, (_, i) => `shop-${i % 50}/web-${i}`).map((id) => [id, { ...row, id, exports: of(row.exports.c1), imports: of(row.imports.c3) }]))
  const made = file.replace('.html', `-${services}.html`)
  writeFileSync(made, head + JSON.stringify(snapshot).replaceAll('<', '\\u003c') + tail)
  const began = Date.now()
  await page.goto(pathToFileURL(made).href + '#/services')
  await until(`${services} services`, (n) => document.querySelector('.filter output')?.textContent === `${n} of ${n}`, services)
  const start = Date.now() - began
  const found = await page.evaluate(async () => {
    const input = document.querySelector('.filter input')
    const painted = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))
    const isFiltered = () => {
      const [some, , all] = document.querySelector('.filter output').textContent.split(' ')
      return some !== all
    }
    const times = []
    for (let i = 0; i < 20; i++) {
      input.value = i % 2 ? '' : 'web-4'
      const began = performance.now()
      input.dispatchEvent(new InputEvent('input', { bubbles: true }))
      do await painted()
      while (isFiltered() !== (i % 2 === 0))
      times.push(performance.now() - began)
    }
    return { filter: Math.round(times.sort((a, b) => a - b)[10]), rows: document.querySelectorAll('.services tr').length }
  })
  return { start, ...found }
}

try {
  await page.setBypassCSP(true) // for axe; the policy is tested elsewhere
  await page.goto(url)
  await until('three clusters are ready', () => [...document.querySelectorAll('.card')].filter((c) => /State\s*Ready/.test(c.innerText)).length === 3)
  await go('#/clusters?cluster=c1')
  await has('atoll-agent: ')
  await until('the picture of who reaches whom', () => document.querySelectorAll('svg.flow .edge.good').length === 3)
  await look('clusters')

  // A change shows by itself.
  await go('#/services')
  for (const c of ['c1', 'c2']) atoll('export', 'web', '-n', namespace, '--context', c)
  const exported = Date.now()
  await until('the service is there', (s) => [...document.querySelectorAll('.services th a')].some((a) => a.textContent === s), service)
  say(`the export is shown ${Date.now() - exported} ms after the command`)
  await until('c3 has the endpoints of both', (s) => [...document.querySelectorAll('.services tbody tr')].find((e) => e.innerText.includes(s))?.innerText.includes('↓ 4/4'), service)
  await look('services')

  // Without a mouse: / goes to the filter, arrows to a row, Enter opens it.
  await page.keyboard.press('/')
  await page.keyboard.type(`${namespace}/w`)
  await until('one row is left', () => document.querySelector('.filter output').textContent.startsWith('1 of'))
  await page.focus('.services')
  await page.keyboard.press('Home')
  await page.keyboard.press('ArrowUp')
  await page.focus('.services tbody a')
  await page.keyboard.press('Enter')
  await has('As seen from')
  await until('it works', () => document.querySelector('.verdict')?.textContent === 'works')
  await until('the picture has all parts', () => ['ServiceExport in c1', 'ServiceExport in c2', 'merge', 'ServiceImport', 'derived Service', 'DNS', 'endpoints of c1', 'endpoints of c2'].every((t) => document.querySelector('svg.flow').textContent.includes(t)))
  await page.evaluate(() => document.querySelector('details summary').click())
  await has('apiVersion: multicluster.x-k8s.io/v1beta1')
  await look('service')

  kubectl('c2', 'patch', 'service', 'web', '-p', '{"spec":{"sessionAffinity":"ClientIP"}}')
  await go('#/conflicts')
  await has('session affinity')
  await has('c2: ClientIP')
  await look('conflicts')
  kubectl('c2', 'patch', 'service', 'web', '-p', '{"spec":{"sessionAffinity":"None"}}')
  await until('the conflict is gone', (s) => ![...document.querySelectorAll('main th a')].some((a) => a.textContent === s), service)

  await go('#/what-if?without=c1&cluster=c3')
  await has('would be served in c3')
  await until('who would serve it', (s) => [...document.querySelectorAll('main tr')].some((r) => r.innerText.includes(s) && r.innerText.includes('c2: Active')), service)
  await look('what-if', true)

  await go('#/services')
  atoll('drain', 'c1', '-n', namespace, '--service', 'web', '--context', 'c1')
  await until('c1 is on standby in c3', (s) => /↓ 2\/4 \+2/.test([...document.querySelectorAll('.services tbody tr')].find((e) => e.innerText.includes(s))?.innerText ?? ''), service)
  await go('#/clusters')
  await until('c1 is drained', () => [...document.querySelectorAll('.card')].some((c) => /^c1[\s\S]*drained/i.test(c.innerText.trim())))
  atoll('undrain', 'c1', '-n', namespace, '--service', 'web', '--context', 'c1')
  await go('#/events')
  await until('what has changed', () => /on standby/.test(document.querySelector('.log')?.innerText ?? ''))
  await has('Exported')
  await look('events', true)

  await go('#/checks')
  await page.evaluate(() => [...document.querySelectorAll('button')].find((b) => b.textContent === 'Run the checks').click())
  await until('the checks have ended', () => /\d+ passed/.test(document.body.innerText) && [...document.querySelectorAll('button')].some((b) => b.textContent === 'Run the checks'))
  await look('checks', true)

  // Which services are active, and which are old, by filter.
  await go('#/services?state=active')
  await until('the service is active', () => !document.querySelector('.filter output').textContent.startsWith('0 of'))
  await go('#/services?state=stale')
  await until('nothing is old', () => document.querySelector('.filter output').textContent.startsWith('0 of'))

  // A cluster that stops answering is old, and everything else goes on.
  await go('#/clusters')
  quiet = true
  atoll('lab', 'kill', '--name', lab, 'c2/apiserver')
  await until('c2 is old', () => [...document.querySelectorAll('.card.stale')].some((c) => /^c2[\s\S]*does not answer/.test(c.innerText.trim())))
  await go('#/services?state=stale&cluster=c2')
  await until('what is old', () => !document.querySelector('.filter output').textContent.startsWith('0 of'))
  await go(`#/service/${service}?cluster=c2`)
  await until('why c2 cannot be read', () => document.querySelector('.notice')?.innerText.length > 20)
  await go(`#/service/${service}?cluster=c3`)
  await until('c3 goes on', () => document.querySelector('.verdict'))
  await go('#/clusters')
  await look('away')
  atoll('lab', 'start', '--name', lab, 'c2/apiserver')
  await until('c2 is back', () => document.querySelectorAll('.card.stale').length === 0)
  quiet = false

  // A snapshot is a file that shows the same.
  const folder = mkdtempSync(join(tmpdir(), 'atoll-console-'))
  const file = join(folder, 'snapshot.html')
  const evil = '<img src=x onerror=alert(1)>' // also a context that does not answer
  const kubeconfig = join(folder, 'config')
  writeFileSync(kubeconfig, execFileSync('kubectl', ['config', 'view', '--flatten', '--raw']))
  const set = (...args) => execFileSync('kubectl', ['--kubeconfig', kubeconfig, 'config', ...args])
  set('set-cluster', 'nowhere', '--server', 'https://127.0.0.1:1')
  set('set-context', evil, '--cluster', 'nowhere')
  atoll('console', '--kubeconfig', kubeconfig, '--context', 'c1', '--context', 'c3', '--context', evil, '--snapshot', file)
  await page.goto(pathToFileURL(file).href + '#/services')
  await has(service)
  await go('#/clusters?cluster=c1')
  await has('snapshot of')
  await has(evil)
  if (await page.evaluate(() => document.querySelector('main img'))) wrong('a context has become markup')
  await go('#/%E0%A4%A') // an address that somebody has broken
  await has('There is no page')
  await go('#/clusters?cluster=c1')
  await has('atoll-agent: ')
  await look('snapshot', true)

  // 5,000 services in 50 clusters are as quick as 50 services: only rows in view are in the document.
  const [few, many] = [await filterTime(file, 50), await filterTime(file, 5000)]
  say(`50 clusters: the first rows after ${many.start} ms, filters of 5,000 services in ${many.filter} ms, of 50 in ${few.filter} ms`)
  if (many.rows > 100) wrong(`${many.rows} rows are in the document`)
  if (many.filter > 5 * few.filter) wrong(`a filter takes ${(many.filter / few.filter).toFixed(1)} times as long with 5,000 services as with 50`)
  rmSync(folder, { recursive: true })

  // When the program ends, the page says so.
  await page.goto(new URL('/', url).href)
  await has('live')
  quiet = true
  server.kill('SIGINT')
  await has('atoll console does not answer')
} catch (e) {
  wrong(String(e.stack ?? e))
} finally {
  await browser.close()
  server.kill('SIGINT')
}
say(problems.length ? `${problems.length} problems` : 'the pages are right')
process.exit(problems.length ? 1 : 0)
