// The state that all pages share: what the server has sent, and what has changed since the page was opened.

import { useEffect, useState } from "preact/hooks";
import type { Change, Cluster, Overview, Row, Snapshot } from "./types";

export interface LogEntry {
  at: number;
  about: string;
  text: string;
  /** worse is set for changes that somebody should look at. */
  worse: boolean;
}

const logLength = 1000;
/** Without a word for this long, the program has ended: it writes every ten seconds. */
const silence = 25_000;
/** The first message has everything: on a slow line, it takes longer. */
const firstSilence = 300_000;

const element = document.getElementById("snapshot");
export const snapshot: Snapshot | null = element ? JSON.parse(element.textContent ?? "null") : null;

export const state = {
  overview: null as Overview | null,
  services: new Map<string, Row>(),
  sorted: [] as Row[],
  log: [] as LogEntry[],
  connected: false,
  /** refused is why the server sends nothing. */
  refused: "",
  version: 0,
};

const listeners = new Set<() => void>();
let scheduled = false;

/** notify draws the pages again, at most once a frame. */
function notify() {
  state.version++;
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(() => {
    scheduled = false;
    for (const listener of listeners) listener();
  });
}

/** useStore draws a component again after each change. */
export function useStore() {
  const [, draw] = useState(0);
  useEffect(() => {
    const listener = () => draw((n) => n + 1);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  }, []);
  return state;
}

function note(about: string, text: string, worse = false) {
  state.log.unshift({ at: Date.now(), about, text, worse });
  state.log.length = Math.min(state.log.length, logLength);
}

/** found has since when clusters, and the broker (""), are read. What comes a moment later is found, not new. */
const found = new Map<string, number>();
const settling = 3000;

function noteRead(o: Overview) {
  const note = (id: string, isRead: boolean) => {
    if (!isRead) found.delete(id);
    else if (!found.has(id)) found.set(id, Date.now());
  };
  note("", o.broker.read);
  for (const c of o.clusters) note(c.id, c.named ? c.state === "read" : o.broker.members);
}

const settled = (cluster: string) => Date.now() - (found.get(cluster) ?? Date.now()) > settling;

/** noteRow notes how a service differs from before. */
function noteRow(id: string, before: Row | undefined, now: Row | null) {
  const kinds = [
    ["exports", "export"],
    ["imports", "import"],
  ] as const;
  for (const [key, what] of kinds) {
    const had = before?.[key] ?? {};
    const has = now?.[key] ?? {};
    for (const cluster of new Set([...Object.keys(had), ...Object.keys(has)])) {
      const a = had[cluster];
      const b = has[cluster];
      if (!settled(cluster)) continue;
      if (!b) note(id, `${what} in ${cluster} is gone`, true);
      else if (!a) note(id, `new ${what} in ${cluster}: ${b.s}`, b.p === "error");
      else if (a.s !== b.s) note(id, `${what} in ${cluster}: ${a.s} → ${b.s}`, b.p === "error");
      else if ((a.r ?? 0) !== (b.r ?? 0) || (a.b ?? 0) !== (b.b ?? 0))
        note(id, `${cluster}: ${endpoints(a)} → ${endpoints(b)}`, (b.r ?? 0) === 0);
    }
  }
  if (!settled("")) return;
  const conflicts = [before?.conflicts?.length ?? 0, now?.conflicts?.length ?? 0];
  if (conflicts[0] !== conflicts[1]) note(id, `${conflicts[0]} → ${conflicts[1]} conflicts`, conflicts[1]! > conflicts[0]!);
}

function endpoints(c: { r?: number; b?: number; n?: number }) {
  return `${c.r ?? 0} of ${c.n ?? 0} endpoints ready` + (c.b ? `, ${c.b} on standby` : "");
}

function noteClusters(before: Overview, now: Overview) {
  const had = new Map(before.clusters.map((c) => [c.id, c]));
  for (const c of now.clusters) {
    // The id of a context is found later than the context.
    const old = before.clusters.find((b) => c.named && b.named && b.context === c.context) ?? had.get(c.id);
    had.delete(c.id);
    if (old) had.delete(old.id);
    if (!old) note(c.id, "new cluster");
    else {
      if (!old.error !== !c.error) note(c.id, c.error ? `does not answer: ${c.error}` : "answers again", !!c.error);
      if (old.member?.state !== c.member?.state) note(c.id, `${old.member?.state ?? "–"} → ${c.member?.state ?? "–"}`, c.member?.state !== "Ready");
      if ((old.member?.drained ?? "") !== (c.member?.drained ?? "")) note(c.id, c.member?.drained ? `drained: ${c.member.drained}` : "no longer drained");
    }
  }
  for (const id of had.keys()) note(id, "cluster is gone", true);
}

function apply(change: Change) {
  const first = !state.overview;
  if (change.overview) {
    if (state.overview) noteClusters(state.overview, change.overview);
    state.overview = change.overview;
    noteRead(change.overview);
  }
  let moved = false;
  if (change.all) {
    moved = true;
    for (const id of state.services.keys()) if (!change.services?.[id]) state.services.delete(id);
  }
  for (const [id, row] of Object.entries(change.services ?? {})) {
    const before = state.services.get(id);
    if (!first) noteRow(id, before, row);
    if (row) {
      moved ||= !before;
      state.services.set(id, row);
    } else {
      moved = state.services.delete(id) || moved;
    }
  }
  if (moved) state.sorted = [...state.services.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  else if (change.services) state.sorted = state.sorted.map((row) => state.services.get(row.id) ?? row);
  notify();
}

/** start begins to follow the server, or shows the snapshot. */
export function start() {
  if (snapshot) {
    state.connected = true;
    apply(snapshot);
    return;
  }
  let source: EventSource;
  let heard = Date.now();
  let first = true;
  const set = (connected: boolean) => {
    if (state.connected !== connected) {
      state.connected = connected;
      notify();
    }
  };
  const open = () => {
    [heard, first] = [Date.now(), true];
    source = new EventSource("/api/live");
    source.onmessage = (message) => {
      [heard, first] = [Date.now(), false];
      state.refused = "";
      set(true);
      apply(JSON.parse(message.data));
    };
    source.addEventListener("alive", () => (heard = Date.now()));
    source.onerror = () => {
      set(false);
      if (source.readyState === EventSource.CLOSED) void askWhy();
    };
  };
  open();
  setInterval(() => {
    if (Date.now() - heard > (first ? firstSilence : silence)) {
      set(false); // also a connection that only seems to be open
      source.close();
      open();
    }
    notify(); // ages
  }, 5000);
}

/** askWhy finds out why the server refuses a stream: a browser does not tell. */
async function askWhy() {
  const ends = new AbortController();
  try {
    const answer = await fetch("/api/live", { signal: ends.signal });
    if (answer.status === 401) return location.reload(); // to log in
    state.refused = answer.ok ? "" : (await answer.text()).trim();
  } catch {
    state.refused = ""; // it does not answer
  } finally {
    ends.abort();
  }
  notify();
}

/** get asks the server. An error has what the server says. */
export async function get<T>(path: string, query: Record<string, string>, signal?: AbortSignal): Promise<T> {
  const answer = await fetch(`/api/${path}?${new URLSearchParams(query)}`, { signal });
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
}

export interface Loaded<T> {
  value?: T;
  error?: string;
  loading: boolean;
  /** at is when the value was read. */
  at: number;
}

/**
 * useLoaded asks the server for something, again when its version changes, and each time that some seconds have passed while the page
 * is visible. Its old value stays until the new one comes; that of something else does not.
 */
export function useLoaded<T>(of: string, version: string, seconds: number, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T> & { of: string }>({ loading: true, of, at: 0 });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const ends = new AbortController();
    setLoaded((before) => (before.of === of ? { ...before, loading: true } : { of, loading: true, at: 0 }));
    load(ends.signal).then(
      (value) => setLoaded({ value, loading: false, of, at: Date.now() }),
      (error) => ends.signal.aborted || setLoaded({ error: String(error.message ?? error), loading: false, of, at: Date.now() }),
    );
    return () => ends.abort();
  }, [of, version, turn]);
  useEffect(() => {
    if (snapshot) return;
    const timer = setInterval(() => document.visibilityState === "visible" && setTurn((n) => n + 1), seconds * 1000);
    return () => clearInterval(timer);
  }, [seconds]);
  return loaded.of === of ? loaded : { loading: true, at: 0 };
}

/** membersOf returns the clusters that belong to the clusterset, or may. */
export function membersOf(o: Overview): Cluster[] {
  return o.clusters.filter((c) => !c.outside);
}

/** readable returns the clusters that a page can ask about. */
export function readable(o: Overview): Cluster[] {
  return membersOf(o).filter((c) => c.named && c.state !== "unread");
}

/** isOld says that what is shown of a cluster is from before it stopped answering. */
export function isOld(c: Cluster): boolean {
  return c.state === "read" && !!c.error;
}

/** stale says that what is shown of a cluster is old, and since when. */
export function stale(c: Cluster): string {
  if (c.state === "unread") return c.named ? "not read" : "not read: no context is its own";
  if (c.state === "reading") return "reading";
  if (c.error) return `does not answer, last ${age(c.answered)}`;
  if (c.unread?.length) return "not all can be read";
  return "";
}

/** age formats the time since a moment. */
export function age(at?: number): string {
  if (!at) return "never";
  return span(((snapshot?.overview?.at ?? Date.now()) - at) / 1000) + " ago";
}

export function span(seconds: number): string {
  const s = Math.max(0, Math.round(seconds));
  if (s < 120) return `${s} s`;
  if (s < 7200) return `${Math.round(s / 60)} min`;
  if (s < 172800) return `${Math.round(s / 3600)} h`;
  return `${Math.round(s / 86400)} d`;
}
