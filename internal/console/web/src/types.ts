// The types of internal/console and internal/doctor/report that pages show.

export type Severity = "error" | "warning" | "pending";

export interface Member {
  cluster: string;
  state: "Ready" | "Silent" | "Lost" | "Joining";
  heartbeatSeconds?: number;
  kubernetes?: string;
  agent?: string;
  region?: string;
  advertises: string;
  ipFamilies?: string[];
  podCIDRs?: string[];
  serviceCIDRs?: string[];
  exports: number;
  exportsLimit: number;
  namespaces: string[];
  allowedRanges?: string[];
  overBudgetOf?: string[];
  isolation?: string;
  drained?: string;
}

export interface Cluster {
  id: string;
  /** named means that the command line has a context of it, which may be the current one, without a name. */
  named?: boolean;
  context?: string;
  on?: string;
  state: "read" | "reading" | "unread";
  /** outside is why the cluster's services are not shown. */
  outside?: string;
  answered?: number;
  error?: string;
  unread?: string[];
  member?: Member;
  knowsLost?: boolean;
  withdrawn?: Record<string, string>;
  silent?: Record<string, string>;
  unproven?: Record<string, string>;
}

export interface CheckResult {
  id: string;
  cluster?: string;
  from?: string;
  to?: string;
  subject: string;
  title: string;
  status: "ok" | "warning" | "error" | "skipped";
  message?: string;
  hint?: string;
  documentation?: string;
}

export interface Checks {
  running: boolean;
  ended?: number;
  error?: string;
  results?: CheckResult[];
  read: number;
  of: number;
  command: string;
}

export interface Overview {
  at: number;
  clusterset: string;
  broker: { server?: string; answered?: number; error?: string; unread?: string[]; read: boolean; members: boolean };
  clusters: Cluster[];
  checks: Checks;
}

/** Cell is an export (s, p, m) or an import of a service in one cluster. */
export interface Cell {
  s: string;
  p?: Severity;
  m?: string;
  r?: number;
  b?: number;
  n?: number;
  f?: Record<string, [number, number]>;
  /** u means that the cluster's endpoints are unknown. */
  u?: boolean;
}

export interface Choice {
  property: string;
  using: string;
  from: string;
  others?: Record<string, string>;
}

export interface Row {
  id: string;
  type?: string;
  exports?: Record<string, Cell>;
  imports?: Record<string, Cell>;
  conflicts?: Choice[];
}

export interface Change {
  overview?: Overview;
  services?: Record<string, Row | null>;
  all?: boolean;
}

export interface Finding {
  severity: Severity;
  about: string;
  message: string;
  do?: string;
}

export interface Status {
  cluster?: string;
  components: { name: string; ready: number; wanted: number; image?: string }[];
  dns?: string[];
  exports: Record<string, number>;
  imports: Record<string, number>;
  findings?: Finding[];
}

export interface KubernetesEvent {
  cluster: string;
  at: string;
  about: string;
  type: string;
  reason: string;
  message: string;
}

export interface KubernetesEvents {
  all: KubernetesEvent[];
  more?: boolean;
}

export interface Snapshot extends Change {
  status: Record<string, Status>;
  errors: Record<string, string>;
  events: Record<string, KubernetesEvents>;
}

export interface Detail {
  name: string;
  cluster?: string;
  verdict: string;
  findings?: Finding[];
  exports?: { cluster: string; type?: string; ports?: string[]; exportedAt: string; status: string; message?: string }[];
  values?: Choice[];
  import?: { type: string; ips?: string[]; ports?: string[]; clusters?: string[]; endpoints: number; readyEndpoints: number; status: string; message?: string };
  derivedService?: string;
  sources?: { cluster: string; published: number; imported: number; readyHere: number; reason?: string }[];
  records?: { name: string; type: string; values?: string[]; total: number }[];
  dns?: string[];
  endpoints: { cluster: string; addresses: string[]; ports?: string[]; state: string; reason?: string; zone?: string; hostname?: string }[] | null;
  commands: string[];
  objects: { name: string; yaml: string }[] | null;
}

export interface Prediction {
  name: string;
  cluster: string;
  without: string;
  ports: { family: string; port?: string; served: boolean; clusters?: { cluster: string; role: string; reason: string; ready: number; active: number; sharePercent: number }[] }[] | null;
}

export interface WhatIf {
  predictions: Prediction[] | null;
  unread?: string[];
}
