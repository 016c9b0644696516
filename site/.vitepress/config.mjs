// The documentation as a site. VitePress reads the pages as they are: CommonMark, Mermaid, and links that also work on a code host.
import { readFileSync, statSync, existsSync } from 'node:fs'
import { dirname, join, normalize, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'
import { withMermaid } from 'vitepress-plugin-mermaid'

const site = dirname(dirname(fileURLToPath(import.meta.url)))
const root = dirname(site)
const docs = join(root, 'docs')
const repository = 'https://github.com/atoll-mcs/atoll'
const navigation = JSON.parse(readFileSync(join(site, 'navigation.json'), 'utf8'))

// outside returns the address on the code host of a link to a file that is not a page, or undefined.
function outside(href, page) {
  if (/^[a-z]+:|^#|^\//.test(href)) return undefined
  const [path, anchor] = href.split('#')
  const target = normalize(join(dirname(page), path))
  const isFolder = existsSync(target) && statSync(target).isDirectory()
  if (target.startsWith(docs + sep) && !isFolder && /\.(md|svg|png)$/.test(target)) return undefined
  return `${repository}/${isFolder ? 'tree' : 'blob'}/main/${relative(root, target)}${anchor ? '#' + anchor : ''}`
}

// slug is the anchor of a heading, as on the code host.
const slug = (text) => text.trim().toLowerCase().replace(/[^\p{L}\p{N}\p{M}_ -]/gu, '').replace(/ /g, '-')

// comments removes comments, which generators use as marks. Other HTML is text: pages have none, but placeholders such as <name>.
function comments(md) {
  md.core.ruler.before('normalize', 'comments', (state) => { state.src = state.src.replace(/^<!--.*-->$/gm, '') })
}

// links leads links to files outside of docs/ to the code host.
function links(md) {
  md.core.ruler.push('outside', (state) => {
    const page = join(docs, state.env.relativePath ?? '')
    for (const token of state.tokens.flatMap((t) => t.children ?? [])) {
      if (token.type !== 'link_open') continue
      const to = outside(token.attrGet('href'), state.env.realPath ?? page)
      if (to) token.attrSet('href', to)
    }
  })
}

export default withMermaid(defineConfig({
  title: 'Atoll',
  description: 'Multi-cluster Services for Kubernetes',
  lang: 'en',
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  srcDir: docs,
  outDir: join(root, 'dist', 'site'),
  cacheDir: join(site, '.vitepress', 'cache'),
  srcExclude: ['reference/generate/**'],
  rewrites: { 'README.md': 'index.md', 'adr/README.md': 'adr/index.md' },
  lastUpdated: false,
  // Pages are outside of the folder that has the modules.
  vite: {
    resolve: { alias: [
      { find: /^vue$/, replacement: join(site, 'node_modules/vue/dist/vue.runtime.esm-bundler.js') },
      { find: /^vue\/server-renderer$/, replacement: join(site, 'node_modules/vue/server-renderer/index.mjs') },
    ] },
    build: { chunkSizeWarningLimit: 2000 },
  },
  markdown: { html: false, anchor: { slugify: slug }, theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' }, config: (md) => { comments(md); links(md) } },
  themeConfig: {
    search: { provider: 'local' },
    socialLinks: [{ icon: 'github', link: repository }],
    outline: [2, 3],
    sidebar: navigation.map(({ section, pages }) => ({
      text: section,
      items: pages.map(({ title, page }) => ({ text: title, link: '/' + page.replace(/README\.md$/, '').replace(/\.md$/, '') })),
    })),
  },
}))
