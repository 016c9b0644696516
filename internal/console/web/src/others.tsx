// The pages of conflicts, checks, events, and what if.

import { useState } from "preact/hooks";
import { BrokerLine } from "./clusters";
import { age, get, membersOf, readable, snapshot, useLoaded, useStore } from "./store";
import type { CheckResult, KubernetesEvents as Found, Prediction, WhatIf as Predictions } from "./types";
import { Copy, Mark, NotInSnapshot, Notice, Select, Table, Title, others, serviceLink, setQuery, usePlace } from "./ui";

export function Conflicts() {
  const { overview, sorted } = useStore();
  const { query } = usePlace();
  const text = query.get("q") ?? "";
  if (!overview) return <Notice>Reading the clusters.</Notice>;
  const all = sorted.filter((row) => row.id.includes(text)).flatMap((row) => (row.conflicts ?? []).map((c) => ({ id: row.id, ...c })));
  return (
    <>
      <Title>Conflicts</Title>
      <p>Exports of one service that differ. The oldest export decides (KEP-1645).</p>
      {(!overview.broker.read || overview.broker.error) && <BrokerLine />}
      <form class="filter" role="search" onSubmit={(e) => e.preventDefault()}>
        <label>
          Filter <input type="search" value={text} onInput={(e) => setQuery({ q: e.currentTarget.value })} />
        </label>
        <output aria-live="polite">{all.length}</output>
      </form>
      {overview.broker.read && !overview.broker.error && all.length === 0 && <p class="good">No conflicts.</p>}
      {all.length > 0 && (
        <Table label="Conflicts" heads={["Service", "Property", "In use", "From", "Others want"]} note={all.length > 500 && "The first 500."}>
              {all.slice(0, 500).map((c) => (
                <tr>
                  <th scope="row">
                    <a href={serviceLink(c.id)}>{c.id}</a>
                  </th>
                  <td>{c.property}</td>
                  <td>{c.using}</td>
                  <td>{c.from}</td>
                  <td>
                    {others(c)}
                  </td>
                </tr>
              ))}
            </Table>
      )}
    </>
  );
}

const statusOrder = ["error", "warning", "skipped", "ok"];

export function Checks() {
  const { overview } = useStore();
  const [failed, setFailed] = useState("");
  if (!overview) return <Notice>Reading the clusters.</Notice>;
  const { checks } = overview;
  const run = async () => {
    const answer = await fetch("/api/checks", { method: "POST" });
    setFailed(answer.ok ? "" : await answer.text());
  };
  const results = [...(checks.results ?? [])].sort((a, b) => statusOrder.indexOf(a.status) - statusOrder.indexOf(b.status));
  const count = (s: CheckResult["status"]) => results.filter((r) => r.status === s).length;
  return (
    <>
      <Title>Checks</Title>
      <NotInSnapshot what="Runs of checks" />
      <p>The checks that need no test pods: a console creates nothing. {checks.command && <>All checks: </>}</p>
      {checks.command && <Copy text={checks.command} />}
      {!snapshot && (
        <p>
          <button type="button" onClick={run} disabled={checks.running}>
            {checks.running ? "Running" : "Run the checks"}
          </button>{" "}
          {checks.running && <progress max={checks.of} value={checks.read} aria-label="Clusters read" />}
        </p>
      )}
      {(failed || checks.error) && <Notice>{failed || checks.error}</Notice>}
      {results.length > 0 && (
        <p role="status">
          {count("error")} errors, {count("warning")} warnings, {count("skipped")} skipped, {count("ok")} passed{checks.ended ? `, ${age(checks.ended)}` : ""}
        </p>
      )}
      <ul class="findings">
        {results.map((r) => (
          <li>
            <Mark of={r.status} /> <strong>{[r.cluster, r.from && `${r.from} → ${r.to}`].filter(Boolean).join(" ")}</strong> {r.id} {r.title}
            {r.message && r.status !== "ok" ? `: ${r.message}` : ""}
            {r.hint && <Copy text={r.hint} />}
          </li>
        ))}
      </ul>
    </>
  );
}

export function Events() {
  const { log, overview } = useStore();
  const { query } = usePlace();
  if (!overview) return <Notice>Reading the clusters.</Notice>;
  const read = readable(overview);
  const cluster = query.get("cluster") || read[0]?.id || "";
  return (
    <>
      <Title>Events</Title>
      {!snapshot && (
        <>
          <h2>Changed since the page was opened</h2>
          {log.length === 0 && <p>Nothing yet.</p>}
          <ol class="log" aria-live="polite">
            {log.slice(0, 300).map((entry) => (
              <li class={entry.worse ? "worse" : ""}>
                <time>{new Date(entry.at).toLocaleTimeString()}</time> {entry.about.includes("/") ? <a href={serviceLink(entry.about)}>{entry.about}</a> : <strong>{entry.about}</strong>} {entry.text}
              </li>
            ))}
          </ol>
        </>
      )}
      <h2>
        <Select label="Events of" value={cluster} of={read.map((c) => [c.id, c.id])} onChange={(c) => setQuery({ cluster: c })} />
      </h2>
      <KubernetesEvents cluster={cluster} />
    </>
  );
}

function KubernetesEvents({ cluster }: { cluster: string }) {
  const loaded = useLoaded<Found>(cluster, "", 15, async (signal) => {
    if (!snapshot) return get("events", { cluster }, signal);
    const events = snapshot.events[cluster];
    if (!events) throw new Error(snapshot.errors[cluster] ?? "not in the snapshot");
    return events;
  });
  return (
    <section aria-busy={loaded.loading}>
      {loaded.error && <Notice>{loaded.error}</Notice>}
      {loaded.value?.all.length === 0 && <p>Atoll has no Events there.</p>}
      {(loaded.value?.more || (loaded.value?.all.length ?? 0) > 300) && <Notice>There are more Events than are shown: some are missing{loaded.value?.more && ", perhaps the newest"}.</Notice>}
      <ol class="log">
        {(loaded.value?.all ?? []).slice(0, 300).map((e) => (
          <li class={e.type === "Warning" ? "worse" : ""}>
            <time dateTime={e.at}>{new Date(e.at).toLocaleString()}</time> <strong>{e.about}</strong> {e.reason}: {e.message}
          </li>
        ))}
      </ol>
    </section>
  );
}

export function WhatIf() {
  const { overview } = useStore();
  const { query } = usePlace();
  if (!overview) return <Notice>Reading the clusters.</Notice>;
  const without = query.get("without") ?? "";
  const read = readable(overview);
  const cluster = query.get("cluster") || read.find((c) => c.id !== without)?.id || "";
  return (
    <>
      <Title>What if</Title>
      <p>Who would serve each service without a cluster, as of now.</p>
      <NotInSnapshot what="Predictions" />
      {!snapshot && (
        <>
          <form class="filter" onSubmit={(e) => e.preventDefault()}>
            <Select label="Without" value={without} of={[["", "choose a cluster"], ...membersOf(overview).map((c) => [c.id, c.id] as [string, string])]} onChange={(v) => setQuery({ without: v })} />
            <Select label="As seen from" value={cluster} of={read.map((c) => [c.id, c.id])} onChange={(c) => setQuery({ cluster: c })} />
          </form>
          {without && <Predicted without={without} cluster={cluster} />}
        </>
      )}
    </>
  );
}

function Predicted({ without, cluster }: { without: string; cluster: string }) {
  const loaded = useLoaded<Predictions>(`${without} ${cluster}`, "", 60, (signal) => get("without", { without, cluster }, signal));
  if (loaded.loading && !loaded.value) return <Notice>Reading {cluster}.</Notice>;
  if (loaded.error) return <Notice>{loaded.error}</Notice>;
  const rows = (loaded.value?.predictions ?? [])
    .flatMap((p) => (p.ports?.length ? p.ports : [{ port: "no endpoint now", family: "", served: false }]).map((port) => ({ id: idOf(p.name), port: port as NonNullable<Prediction["ports"]>[number] })))
    .sort((a, b) => Number(a.port.served) - Number(b.port.served) || (a.id < b.id ? -1 : 1));
  const lost = rows.filter((r) => !r.port.served).length;
  return (
    <>
      {loaded.value?.unread?.map((why) => <Notice>This is not certain: {why}</Notice>)}
      <p role="status" class={lost ? "bad" : loaded.value?.unread || !rows.length ? "" : "good"}>
        {rows.length === 0 ? `${cluster} imports nothing from ${without}.` : `Without ${without}, ${lost ? `${lost} of ${rows.length} ports would not be served` : `${rows.length === 1 ? "the only port" : `all ${rows.length} ports`} would be served`} in ${cluster}.`}
      </p>
      <Table label="Predictions" heads={["Service", "Port", "IP family", "Served", "By"]} note={rows.length > 1000 && "The first 1000."}>
            {rows.slice(0, 1000).map((r) => (
              <tr class={r.port.served ? "" : "error"}>
                <th scope="row">
                  <a href={serviceLink(r.id)}>{r.id}</a>
                </th>
                <td>{r.port.port || "(no name)"}</td>
                <td>{r.port.family}</td>
                <td>{r.port.served ? "yes" : "no"}</td>
                <td>
                  {(r.port.clusters ?? []).map((c) => `${c.cluster}: ${c.role} (${c.reason})${c.active ? ` ${Math.round(c.sharePercent)}%` : ""}`).join(", ")}
                </td>
              </tr>
            ))}
          </Table>
    </>
  );
}

/** idOf returns namespace and name of web.shop.svc.clusterset.local. */
function idOf(name: string) {
  const [service, namespace] = name.split(".svc.")[0]!.split(/\.(?=[^.]*$)/);
  return `${namespace}/${service}`;
}

