// The page of one service.

import { Flow } from "./flow";
import { age, get, isOld, membersOf, readable, snapshot, stale, state, useLoaded, useStore } from "./store";
import type { Cell, Choice, Detail, Row } from "./types";
import { Copy, Findings, Mark, Notice, Select, Table, Title, others, setQuery, usePlace } from "./ui";

export function Service() {
  const { overview, services } = useStore();
  const { rest, query } = usePlace();
  const id = rest.join("/");
  const row = services.get(id);
  if (!overview) return <Notice>Reading the clusters.</Notice>;
  const read = readable(overview);
  const cluster = query.get("cluster") || (read.find((c) => row?.imports?.[c.id]) ?? read[0])?.id || "";
  return (
    <>
      <Title>{id}</Title>
      {!row && <Notice>No cluster that is read exports or imports this service.</Notice>}
      {row && <InAll row={row} />}
      {!snapshot && read.length > 0 && (
        <>
          <h2>
            <Select label="As seen from" value={cluster} of={read.map((c) => [c.id, c.id])} onChange={(c) => setQuery({ cluster: c })} />
          </h2>
          <Explained id={id} cluster={cluster} seen={JSON.stringify(row ?? null) + overview.clusters.map((c) => c.state + isOld(c)).join()} />
        </>
      )}
      {snapshot && <Conflicts row={row} />}
    </>
  );
}

/** InAll shows a service in each cluster. */
function InAll({ row }: { row: Row }) {
  return (
    <Table label="The service in each cluster" heads={["Cluster", "Export", "Import", "Ready", "From"]}>
          {membersOf(state.overview!).map((c) => {
            const [e, i] = [row.exports?.[c.id], row.imports?.[c.id]];
            return (
              <tr class={stale(c) ? "stale" : ""}>
                <th scope="row">
                  {c.id} {stale(c) && <span class="tag">{stale(c)}</span>}
                </th>
                <td>{e && <Status cell={e} />}</td>
                <td>{i && <Status cell={i} />}</td>
                <td>{i && (i.u ? "unknown" : `${i.r ?? 0} of ${i.n ?? 0}`)}</td>
                <td>
                  {Object.entries(i?.f ?? {})
                    .sort()
                    .map(([from, [ready, standby]]) => `${from}: ${ready}${standby ? ` (+${standby} on standby)` : ""}`)
                    .join(", ")}
                </td>
              </tr>
            );
          })}
        </Table>
  );
}

function Status({ cell }: { cell: Cell }) {
  return (
    <>
      {cell.p && <Mark of={cell.p} />} {cell.s}
      {cell.m && <span class="small">: {cell.m}</span>}
    </>
  );
}

function Conflicts({ row }: { row?: Row }) {
  if (!row?.conflicts?.length) return null;
  return (
    <>
      <h2>Conflicts</h2>
      <Values all={row.conflicts} />
    </>
  );
}

function Values({ all, why }: { all: Choice[]; why?: string }) {
  return (
    <Table label="Merged properties" heads={["Property", "Value", "From", "Others want"]}>
          {all.map((v) => (
            <tr>
              <th scope="row">{v.property}</th>
              <td>{v.using}</td>
              <td>
                {v.from}
                {why && v.others ? ` (${why})` : ""}
              </td>
              <td>
                {others(v)}
              </td>
            </tr>
          ))}
        </Table>
  );
}

function Explained({ id, cluster, seen }: { id: string; cluster: string; seen: string }) {
  const loaded = useLoaded<Detail>(`${id} ${cluster}`, seen, 15, (signal) => get("explain", { service: id, cluster }, signal));
  const d = loaded.value;
  return (
    <section aria-busy={loaded.loading}>
      {loaded.loading && !d && <Notice>Reading {cluster}.</Notice>}
      {loaded.error && <Notice>{loaded.error}</Notice>}
      {d && (
        <>
          <p>
            <code>{d.name}</code>{" "}
            <strong class={`verdict ${d.verdict === "works" ? "good" : d.verdict === "does not work" ? "bad" : "warn"}`}>{d.verdict}</strong> in {d.cluster}. <span class="small">Read {age(loaded.at)}.</span>
          </p>
          <Flow detail={d} />
          <h3>Findings</h3>
          <Findings all={d.findings} />
          {d.values && (
            <>
              <h3>Merged properties</h3>
              <Values all={d.values} why="oldest export" />
            </>
          )}
          <h3>Endpoints</h3>
          <Table label="Endpoints" heads={["Address", "Cluster", "State", "Ports", "Zone"]}>
                {(d.endpoints ?? []).slice(0, 500).map((e) => (
                  <tr>
                    <th scope="row">{e.addresses.join(" ")}</th>
                    <td>{e.cluster}</td>
                    <td>{e.state + (e.reason ? ` (${e.reason})` : "")}</td>
                    <td>{(e.ports ?? []).join(" ")}</td>
                    <td>{e.zone}</td>
                  </tr>
                ))}
              </Table>
          {(d.endpoints?.length ?? 0) > 500 && <p class="small">The first 500 of {d.endpoints!.length}.</p>}
          <h3>Commands</h3>
          {d.commands.map((text) => (
            <p>
              <Copy text={text} />
            </p>
          ))}
          <h3>Objects</h3>
          {(d.objects ?? []).map((o) => (
            <details>
              <summary>{o.name}</summary>
              <pre tabIndex={0}>{o.yaml}</pre>
            </details>
          ))}
        </>
      )}
    </section>
  );
}
