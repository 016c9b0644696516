// The page of services: one row a service, one column a cluster. Only the rows in view are in the document.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { isOld, membersOf, stale, useStore } from "./store";
import type { Cell, Cluster, Row } from "./types";
import { Notice, Select, Title, serviceLink, setQuery, usePlace } from "./ui";

const rowHeight = 30;
const extra = 10;

const states: [string, string][] = [
  ["", "all"],
  ["exported", "exported"],
  ["imported", "imported"],
  ["problem", "with problems"],
  ["conflict", "in conflict"],
  ["active", "active: with a ready endpoint"],
  ["standby", "with standby"],
  ["unserved", "without a ready endpoint"],
  ["stale", "stale: of a cluster that does not answer"],
];

/** has reports whether a service is in a state, in one cluster if that is given. old are the clusters of which what is shown is old. */
function has(row: Row, what: string, cluster: string, old: Set<string>): boolean {
  const cells = (all?: Record<string, Cell>) => (cluster ? [all?.[cluster]].filter((c) => c !== undefined) : Object.values(all ?? {}));
  switch (what) {
    case "exported":
      return cells(row.exports).length > 0;
    case "imported":
      return cells(row.imports).length > 0;
    case "active":
      return cells(row.imports).some((c) => c.r);
    case "stale":
      return [...Object.keys(row.exports ?? {}), ...Object.keys(row.imports ?? {})].some((id) => (!cluster || id === cluster) && old.has(id));
    case "problem":
      return [...cells(row.exports), ...cells(row.imports)].some((c) => c.p);
    case "conflict":
      return !!row.conflicts?.length;
    case "standby":
      return cells(row.imports).some((c) => c.b);
    case "unserved":
      return cells(row.imports).some((c) => !c.r && !c.u);
  }
  return !cluster || cells(row.exports).length + cells(row.imports).length > 0;
}

export function filter(rows: Row[], text: string, namespace: string, what: string, cluster: string, old: Set<string>): Row[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter(
    (row) => (!namespace || row.id.startsWith(namespace + "/")) && words.every((word) => row.id.includes(word)) && ((!what && !cluster) || has(row, what, cluster, old)),
  );
}

export function Services() {
  const { overview, sorted, version } = useStore();
  const { query } = usePlace();
  const [text, namespace, what, cluster] = ["q", "ns", "state", "cluster"].map((key) => query.get(key) ?? "") as [string, string, string, string];
  const search = useRef<HTMLInputElement>(null);
  const old = new Set(overview?.clusters.filter(isOld).map((c) => c.id));
  const shown = useMemo(() => filter(sorted, text, namespace, what, cluster, old), [version, text, namespace, what, cluster]);
  const namespaces = useMemo(() => [...new Set(sorted.map((row) => row.id.split("/")[0]!))], [sorted]);
  useEffect(() => {
    const slash = (e: KeyboardEvent) => {
      if (e.key === "/" && !(e.target as HTMLElement).closest("input, select, textarea")) {
        e.preventDefault();
        search.current?.focus();
      }
    };
    addEventListener("keydown", slash);
    return () => removeEventListener("keydown", slash);
  }, []);
  if (!overview) return <Notice>Reading the clusters.</Notice>;
  const clusters = membersOf(overview);
  return (
    <>
      <Title>Services</Title>
      <form class="filter" role="search" onSubmit={(e) => e.preventDefault()}>
        <label>
          Filter <kbd aria-hidden="true">/</kbd>{" "}
          <input ref={search} type="search" value={text} aria-keyshortcuts="/" onInput={(e) => setQuery({ q: e.currentTarget.value })} />
        </label>
        <Select label="Namespace" value={namespace} of={[["", "all"], ...namespaces.map((n) => [n, n] as [string, string])]} onChange={(ns) => setQuery({ ns })} />
        <Select label="State" value={what} of={states} onChange={(state) => setQuery({ state })} />
        <Select label="Cluster" value={cluster} of={[["", "all"], ...clusters.map((c) => [c.id, c.id] as [string, string])]} onChange={(c) => setQuery({ cluster: c })} />
        <output aria-live="polite">
          {shown.length} of {sorted.length}
        </output>
      </form>
      <Table rows={shown} clusters={cluster ? clusters.filter((c) => c.id === cluster) : clusters} />
      <p class="small">
        <span class="legend">↑ exports</span>
        <span class="legend">↓ imports: ready endpoints of all, + on standby</span>
        <span class="legend">≠ conflict</span>
      </p>
    </>
  );
}

function Table({ rows, clusters }: { rows: Row[]; clusters: Cluster[] }) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const [at, setAt] = useState(0);
  useEffect(() => {
    const sized = new ResizeObserver(() => setHeight(box.current?.clientHeight ?? 600));
    sized.observe(box.current!);
    return () => sized.disconnect();
  }, []);
  const first = Math.max(0, Math.min(Math.floor(top / rowHeight) - extra, rows.length - 1));
  const last = Math.min(rows.length, Math.ceil((top + height) / rowHeight) + extra);
  const move = (e: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -rows.length, End: rows.length }[e.key];
    if (!by || !rows.length) return;
    e.preventDefault();
    const to = Math.max(0, Math.min(rows.length - 1, at + by));
    setAt(to);
    const y = to * rowHeight;
    const scroller = box.current!;
    if (y < scroller.scrollTop) scroller.scrollTop = y;
    else if (y + 2 * rowHeight > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = y + 2 * rowHeight - scroller.clientHeight;
    requestAnimationFrame(() => requestAnimationFrame(() => scroller.querySelector<HTMLElement>(`[data-at="${to}"] a`)?.focus({ preventScroll: true })));
  };
  return (
    <div class="scroll services" ref={box} tabIndex={0} role="region" aria-label="Services and clusters" onScroll={(e) => setTop(e.currentTarget.scrollTop)} onKeyDown={move}>
      <table aria-rowcount={rows.length + 1}>
        <thead>
          <tr aria-rowindex={1}>
            <th scope="col">Service</th>
            {clusters.map((c) => (
              <th scope="col" class={stale(c) ? "stale" : ""} title={stale(c)}>
                {c.id}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {first > 0 && <tr class="space" aria-hidden="true" ref={(e) => void e?.style.setProperty("height", `${first * rowHeight}px`)} />}
          {rows.slice(first, last).map((row, i) => (
            <tr key={row.id} data-at={first + i} aria-rowindex={first + i + 2}>
              <th scope="row">
                <a href={serviceLink(row.id)} onFocus={() => setAt(first + i)}>
                  {row.id}
                </a>
                {row.type === "Headless" && <span class="tag">headless</span>}
                {row.conflicts?.length ? (
                  <a class="tag conflict" href={`#/conflicts?q=${row.id}`} aria-label={`${row.conflicts.length} conflicts`} tabIndex={-1}>
                    ≠
                  </a>
                ) : null}
              </th>
              {clusters.map((c) => (
                <Both row={row} c={c} />
              ))}
            </tr>
          ))}
          {last < rows.length && <tr class="space" aria-hidden="true" ref={(e) => void e?.style.setProperty("height", `${(rows.length - last) * rowHeight}px`)} />}
        </tbody>
      </table>
    </div>
  );
}

/** Both shows a service's export and import in one cluster. */
function Both({ row, c }: { row: Row; c: Cluster }) {
  const e = row.exports?.[c.id];
  const i = row.imports?.[c.id];
  const worst = [e, i].map((cell) => cell?.p).sort((a, b) => order(a) - order(b))[0];
  const text = [e && `exports: ${describe(e)}`, i && `imports: ${describe(i)}, ${i.u ? "endpoints unknown" : `${i.r ?? 0} of ${i.n ?? 0} endpoints ready`}${i.b ? `, ${i.b} on standby` : ""}`, stale(c)].filter(Boolean);
  return (
    <td class={`${worst ?? ""} ${stale(c) ? "stale" : ""}`} title={text.join("\n")}>
      {!e && !i && c.unread?.length ? "?" : ""}
      {e && "↑"}
      {i && (i.u ? " ↓ ?" : ` ↓ ${i.r ?? 0}/${i.n ?? 0}`)}
      {i?.b ? ` +${i.b}` : ""}
      {worst && <span class="hidden">{worst}</span>}
    </td>
  );
}

function order(p?: string) {
  return ["error", "warning", "pending", undefined].indexOf(p);
}

function describe(cell: Cell) {
  return cell.s + (cell.m ? ` (${cell.m})` : "");
}
