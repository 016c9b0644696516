// Pictures of parts and what leads from one to another, and that of a service's way: exports, merge, import, Service and DNS, endpoints.

import dagre from "@dagrejs/dagre";
import { useMemo } from "preact/hooks";
import type { Detail } from "./types";

export interface Part {
  id: string;
  lines: string[];
  tone?: string;
}

/** Edge leads from one part to another, or both ways. Its tone is one of good, warning and error. */
export interface Edge {
  from: string;
  to: string;
  both?: boolean;
  tone?: string;
}

const charWidth = 7.3;
const lineHeight = 17;

function parts(d: Detail): { nodes: Part[]; edges: Edge[] } {
  const nodes: Part[] = [];
  const edges: Edge[] = [];
  const edge = (from: string, to: string) => edges.push({ from, to });
  const exports = d.exports ?? [];
  exports.forEach((e, i) => {
    nodes.push({ id: `export ${e.cluster}`, lines: [`ServiceExport in ${e.cluster}`, e.status + (i === 0 && exports.length > 1 ? ", oldest" : ""), (e.ports ?? []).join(" ")], tone: ["Published", "Ready"].includes(e.status) ? "" : "warning" });
    edge(`export ${e.cluster}`, "merge");
  });
  const conflicts = (d.values ?? []).filter((v) => Object.keys(v.others ?? {}).length).length;
  nodes.push({ id: "merge", lines: ["merge", conflicts ? `${conflicts} conflicts: the oldest wins` : exports.length ? `${(d.values ?? []).length} properties agree` : "no export"], tone: conflicts ? "warning" : "" });
  const i = d.import;
  nodes.push({ id: "import", lines: i ? [`ServiceImport in ${d.cluster}`, `${i.type}, ${i.status}`, (i.ips ?? []).join(" ")] : [`no ServiceImport in ${d.cluster}`], tone: i?.status === "Ready" ? "good" : "error" });
  edge("merge", "import");
  const records = d.records ?? [];
  nodes.push({
    id: "dns",
    lines: ["DNS", ...(records.length ? records.map((r) => `${r.type} ${r.values?.[0] ?? ""}${r.total > 1 ? ` and ${r.total - 1} more` : ""}`) : ["no answer"]), d.dns?.length ? `by ${d.dns.join(", ")}` : "not forwarded"],
    tone: records.length && d.dns?.length ? "good" : "error",
  });
  edge("import", "dns");
  const before = d.derivedService ? "service" : "import";
  if (d.derivedService) {
    nodes.push({ id: "service", lines: ["derived Service", d.derivedService] });
    edge("import", "service");
  }
  for (const s of d.sources ?? []) {
    const here = (d.endpoints ?? []).filter((e) => e.cluster === s.cluster);
    const standby = here.filter((e) => e.state === "Standby");
    nodes.push({
      id: `endpoints ${s.cluster}`,
      lines: [`endpoints of ${s.cluster}`, `${s.readyHere} ready of ${s.imported}`, standby.length ? `${standby.length} on standby (${standby[0]!.reason})` : ""],
      tone: s.readyHere ? "good" : standby.length ? "warning" : "error",
    });
    edge(before, `endpoints ${s.cluster}`);
  }
  return { nodes: nodes.map((n) => ({ ...n, lines: n.lines.filter(Boolean).map(short) })), edges };
}

function short(text: string) {
  return text.length > 40 ? text.slice(0, 39) + "…" : text;
}

export function Flow({ detail }: { detail: Detail }) {
  return <Drawing label="The way of the service" {...parts(detail)} />;
}

interface Picture {
  label: string;
  nodes: Part[];
  edges: Edge[];
  words?: string;
}

/** Drawing draws parts from left to right, when they differ: that takes time. A screen reader reads its words. */
export function Drawing(picture: Picture) {
  return useMemo(() => draw(picture), [JSON.stringify(picture)]);
}

function draw({ label, nodes, edges, words }: Picture) {
  const graph = new dagre.graphlib.Graph().setGraph({ rankdir: "LR", nodesep: 12, ranksep: 36, marginx: 4, marginy: 4 }).setDefaultEdgeLabel(() => ({}));
  for (const n of nodes) graph.setNode(n.id, { width: Math.max(...n.lines.map((l) => l.length)) * charWidth + 20, height: n.lines.length * lineHeight + 14 });
  for (const e of edges) graph.setEdge(e.from, e.to);
  dagre.layout(graph);
  const ways = edges.map((e) => (graph.edge(e.from, e.to) as { points: { x: number; y: number }[] }).points);
  const size = graph.graph() as { width?: number; height?: number };
  // Edges may leave the area that the layout calculates from the parts.
  const xs = [0, size.width ?? 0, ...ways.flat().map((p) => p.x)];
  const ys = [0, size.height ?? 0, ...ways.flat().map((p) => p.y)];
  const [left, top] = [Math.min(...xs) - 2, Math.min(...ys) - 2];
  const [width, height] = [Math.max(...xs) + 2 - left, Math.max(...ys) + 2 - top];
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label}>
      <svg class="flow" role="img" aria-label={words ?? nodes.map((n) => n.lines.join(" ")).join("; ")} width={width} height={height} viewBox={`${left} ${top} ${width} ${height}`}>
        <defs>
          <marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="6" markerHeight="6" orient="auto">
            <path d="M0 0L8 4L0 8z" />
          </marker>
        </defs>
        {edges.map((e, i) => (
          <path class={`edge ${e.tone ?? ""}`} marker-end={e.both ? undefined : "url(#arrow)"} d={`M${ways[i]!.map((p) => `${p.x} ${p.y}`).join("L")}`} />
        ))}
        {nodes.map((n) => {
          const at = graph.node(n.id) as { x: number; y: number; width: number; height: number };
          return (
            <g class={n.tone} transform={`translate(${at.x - at.width / 2} ${at.y - at.height / 2})`}>
              <rect width={at.width} height={at.height} rx={5} />
              {n.lines.map((line, i) => (
                <text x={10} y={lineHeight * (i + 1) + 1} class={i ? "" : "head"}>
                  {line}
                </text>
              ))}
            </g>
          );
        })}
      </svg>
    </div>
  );
}
