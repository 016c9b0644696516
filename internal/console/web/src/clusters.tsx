// The page of clusters, and who reaches whom.

import { Drawing, type Edge } from "./flow";
import { age, get, isOld, membersOf, snapshot, stale, state, useLoaded, useStore } from "./store";
import type { Cluster, Status } from "./types";
import { Copy, Findings, Notice, Table, Title, usePlace } from "./ui";

export function Clusters() {
  const { overview } = useStore();
  const { query } = usePlace();
  if (!overview) return <Notice>Reading the clusters.</Notice>;
  const chosen = overview.clusters.find((c) => c.id === query.get("cluster"));
  return (
    <>
      <Title>Clusters</Title>
      <BrokerLine />
      <ul class="cards">
        {overview.clusters.map((c) => (
          <li class={`card ${stale(c) ? "stale" : ""} ${tone(c)}`}>
            <Card c={c} />
          </li>
        ))}
      </ul>
      {chosen && <ClusterStatus cluster={chosen} />}
      <h2>Who reaches whom</h2>
      <Reach clusters={membersOf(overview)} />
    </>
  );
}

export function BrokerLine() {
  const { broker } = state.overview!;
  if (broker.read && broker.members && !broker.error) return <p>Broker: {broker.server}</p>;
  if (!broker.error && broker.unread)
    return (
      <Notice>
        The broker can be read only in part: {broker.unread.join("; ")}. {!broker.read && "Conflicts and the exports of clusters that are not read are unknown. "}
        {!broker.members && "The states of the clusters are unknown."}
      </Notice>
    );
  return (
    <Notice>
      The broker {broker.read ? `cannot be read now, and has answered last ${age(broker.answered)}` : "cannot be read"}: {broker.error || "connecting"}. Without it, conflicts, heartbeats
      and the exports of clusters that are not read are unknown or old.
    </Notice>
  );
}

function tone(c: Cluster) {
  const { broker } = state.overview!;
  if (!broker.members || broker.error || c.outside) return "";
  if (c.member?.state === "Silent" || c.member?.state === "Lost") return "bad";
  if (c.member?.drained || c.member?.overBudgetOf?.length || c.unread?.length) return "warn";
  return c.member?.state === "Ready" ? "good" : "";
}

function Card({ c }: { c: Cluster }) {
  const m = c.member;
  const { broker } = state.overview!;
  const current = broker.members && !broker.error;
  const problems = [...state.services.values()].filter((row) => row.exports?.[c.id]?.p === "error" || row.imports?.[c.id]?.p === "error").length;
  const rows: [string, string | undefined][] = [
    ["State", c.outside ? c.outside : !current ? `unknown${m ? `, last ${m.state}` : ""}` : m ? m.state : "not on the broker"],
    ["Heartbeat", m?.heartbeatSeconds === undefined ? undefined : age((broker.answered ?? 0) - 1000 * m.heartbeatSeconds)],
    ["Kubernetes", m?.kubernetes],
    ["Agent", m?.agent],
    ["Reached by", m?.advertises],
    ["Region", m?.region],
    ["Drained", m?.drained],
    ["Exports", m && `${m.exports} (at most ${m.exportsLimit.toLocaleString()})`],
    ["May export", m && !m.namespaces.includes("*") ? m.namespaces.join(", ") || "nothing" : undefined],
    ["Ranges", m?.allowedRanges?.join(", ")],
    ["Budget", m?.overBudgetOf?.length ? `exceeds that of ${m.overBudgetOf.join(", ")}` : undefined],
  ];
  return (
    <>
      <h2>
        <a href={`#/clusters?cluster=${encodeURIComponent(c.id)}`}>{c.id}</a>
        {stale(c) && <span class="tag">{stale(c)}</span>}
        {m?.drained && <span class="tag">drained</span>}
      </h2>
      <dl>
        {rows.map(
          ([name, value]) =>
            value && (
              <>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </>
            ),
        )}
      </dl>
      {problems > 0 && (
        <p>
          <a href={`#/services?state=problem&cluster=${encodeURIComponent(c.id)}`}>{problems} services with errors</a>
        </p>
      )}
      {c.error && c.named && <p class="small">{c.error}</p>}
      {c.unread?.map((text) => <p class="small">{text}</p>)}
    </>
  );
}

function ClusterStatus({ cluster }: { cluster: Cluster }) {
  const loaded = useLoaded<Status>(cluster.id, cluster.state + isOld(cluster), 15, async (signal) => {
    if (!snapshot) return get("status", { cluster: cluster.id }, signal);
    const status = snapshot.status[cluster.id];
    if (!status) throw new Error(snapshot.errors[cluster.id] ?? "not in the snapshot");
    return status;
  });
  const s = loaded.value;
  return (
    <section aria-labelledby="status">
      <h2 id="status">Status of {cluster.id}</h2>
      {loaded.loading && !s && <Notice>Reading {cluster.id}.</Notice>}
      {loaded.error && <Notice>{loaded.error}</Notice>}
      {s && (
        <>
          {!snapshot && <p class="small">read {age(loaded.at)}</p>}
          <p>
            {s.components.map((part) => `${part.name}: ${part.ready} of ${part.wanted} ready`).join("; ") || "No component of Atoll."}
            {s.dns?.length ? `; DNS: ${s.dns.join(", ")}` : ""}
          </p>
          <Findings all={s.findings} />
        </>
      )}
      {cluster.named && <Copy text={`atoll status${cluster.on ?? ""}`} />}
    </section>
  );
}

const reachText: Record<string, [string, string]> = {
  yes: ["●", "reached, as far as is known"],
  silent: ["◐", "its endpoints do not answer; they are on standby"],
  withdrawn: ["×", "unreachable: its endpoints are withdrawn"],
  unproven: ["○", "none of its endpoints has ever answered"],
  unknown: ["?", "unknown"],
  self: ["·", ""],
};

function reach(from: Cluster, to: Cluster): string {
  if (from.id === to.id) return "self";
  if (from.state !== "read" || from.error || !from.knowsLost || from.member?.state !== "Ready") return "unknown";
  if (from.withdrawn?.[to.id]) return "withdrawn";
  if (from.silent?.[to.id]) return "silent";
  return from.unproven?.[to.id] ? "unproven" : "yes";
}

/** mostDrawn is up to how many clusters a picture shows all connections: of more, only those that do not work. */
const mostDrawn = 8;
/** mostEdges is up to how many connections a picture is readable. */
const mostEdges = 60;

/** partTones are the tones of a cluster's card in a picture. */
const partTones: Record<string, string> = { good: "good", warn: "warning", bad: "error" };

const tones: Record<string, string> = { yes: "good", silent: "warning", unproven: "warning", withdrawn: "error" };

/** Picture draws who reaches whom: a line for two clusters that reach one another, else one for each direction. */
function Picture({ clusters }: { clusters: Cluster[] }) {
  const edges: Edge[] = [];
  const isDrawn = (how: string) => how !== "unknown" && (how !== "yes" || clusters.length <= mostDrawn);
  for (const [i, a] of clusters.entries()) {
    for (const b of clusters.slice(i + 1)) {
      const [there, back] = [reach(a, b), reach(b, a)];
      if (isDrawn(there)) edges.push({ from: a.id, to: b.id, tone: tones[there], both: there === back });
      if (isDrawn(back) && there !== back) edges.push({ from: b.id, to: a.id, tone: tones[back] });
    }
  }
  const drawn = clusters.filter((c) => clusters.length <= mostDrawn || edges.some((e) => e.from === c.id || e.to === c.id));
  const nodes = drawn.map((c) => ({ id: c.id, lines: [c.id], tone: stale(c) ? "" : partTones[tone(c)] }));
  if (!nodes.length || edges.length > mostEdges) return null;
  return <Drawing label="Picture of who reaches whom" nodes={nodes} edges={edges} words="The table below says the same." />;
}

function Reach({ clusters }: { clusters: Cluster[] }) {
  return (
    <>
      <Picture clusters={clusters} />
      <ReachTable clusters={clusters} />
    </>
  );
}

function ReachTable({ clusters }: { clusters: Cluster[] }) {
  return (
    <Table
      label="Who reaches whom"
      class="reach"
      heads={["from \\ to", ...clusters.map((c) => c.id)]}
      note={["yes", "silent", "withdrawn", "unproven", "unknown"].map((how) => (
        <span class="legend">
          {reachText[how]![0]} {reachText[how]![1]}
        </span>
      ))}
    >
      {clusters.map((from) => (
        <tr class={stale(from) ? "stale" : ""}>
          <th scope="row">{from.id}</th>
          {clusters.map((to) => {
            const how = reach(from, to);
            const [sign, text] = reachText[how]!;
            return (
              <td class={how} title={text && `${from.id} → ${to.id}: ${text}`}>
                <span aria-hidden="true">{sign}</span>
                <span class="hidden">{text}</span>
              </td>
            );
          })}
        </tr>
      ))}
    </Table>
  );
}
