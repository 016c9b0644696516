import { render } from "preact";
import { Clusters } from "./clusters";
import { Checks, Conflicts, Events, WhatIf } from "./others";
import { Service } from "./service";
import { Services } from "./services";
import { snapshot, start, useStore } from "./store";
import { Notice, Title, usePlace } from "./ui";

const pages: Record<string, [string, () => preact.JSX.Element]> = {
  clusters: ["Clusters", Clusters],
  services: ["Services", Services],
  conflicts: ["Conflicts", Conflicts],
  checks: ["Checks", Checks],
  events: ["Events", Events],
  "what-if": ["What if", WhatIf],
};

function App() {
  const { overview, connected, refused } = useStore();
  const { page } = usePlace();
  const Page = page === "service" ? Service : pages[page]?.[1];
  return (
    <>
      <a class="skip" href="#main" onClick={(e) => (e.preventDefault(), document.getElementById("main")?.focus())}>
        Skip to the content
      </a>
      <header>
        <strong>Atoll {overview?.clusterset}</strong>
        <nav aria-label="Pages">
          {Object.entries(pages).map(([name, [title]]) => (
            <a href={`#/${name}`} aria-current={name === page || (name === "services" && page === "service") ? "page" : undefined}>
              {title}
            </a>
          ))}
        </nav>
        <span class={`live ${connected ? "good" : "bad"}`} role="status">
          {snapshot ? `snapshot of ${new Date(snapshot.overview!.at).toLocaleString()}` : connected ? "live" : "not connected"}
        </span>
      </header>
      <main id="main" tabIndex={-1} class={connected ? "" : "stale"}>
        {refused && <Notice>{refused}</Notice>}
        {!connected && !refused && overview && <Notice>atoll console does not answer: what is shown is old. If it has ended, run it again.</Notice>}
        {Page ? <Page /> : <Title>There is no page {page}</Title>}
      </main>
    </>
  );
}

start();
render(<App />, document.getElementById("app")!);
