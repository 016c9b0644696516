// Parts that several pages use.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { snapshot } from "./store";
import type { Choice, Finding, Severity } from "./types";

export interface Place {
  page: string;
  rest: string[];
  query: URLSearchParams;
}

/** place reads the address: #/page/rest?query. */
export function place(): Place {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [page = "", ...rest] = path.split("/").map(decode);
  return { page: page || "clusters", rest, query: new URLSearchParams(query) };
}

function decode(text: string) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // the address was written by hand
  }
}

export function usePlace(): Place {
  const [now, set] = useState(place);
  useEffect(() => {
    const moved = () => set(place());
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  return now;
}

/** setQuery changes the address without a new entry in the history. */
export function setQuery(changes: Record<string, string>) {
  const { query } = place();
  for (const [key, value] of Object.entries(changes)) value ? query.set(key, value) : query.delete(key);
  const text = query.toString();
  history.replaceState(null, "", location.hash.split("?")[0] + (text ? `?${text}` : ""));
  dispatchEvent(new HashChangeEvent("hashchange"));
}

export function serviceLink(id: string) {
  return `#/service/${id}`;
}

const marks: Record<string, string> = { error: "×", warning: "‼", pending: "…", ok: "√", skipped: "–" };

export function Mark({ of }: { of: Severity | "ok" | "skipped" }) {
  return (
    <span class={`mark ${of}`} role="img" aria-label={of}>
      {marks[of]}
    </span>
  );
}

export function Findings({ all }: { all?: Finding[] }) {
  if (!all?.length) return <p class="good">No problems.</p>;
  return (
    <ul class="findings">
      {all.map((f) => (
        <li>
          <Mark of={f.severity} /> <strong>{f.about}</strong>: {f.message}
          {f.do && <Copy text={f.do} />}
        </li>
      ))}
    </ul>
  );
}

/** Copy shows a command with a button that copies it. */
export function Copy({ text }: { text: string }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setDone(true);
      setTimeout(() => setDone(false), 1500);
    } catch {
      setDone(false); // the text can be selected
    }
  };
  return (
    <span class="copy">
      <code>{text}</code>
      <button type="button" onClick={copy} aria-label={`Copy: ${text}`}>
        {done ? "copied" : "copy"}
      </button>
    </span>
  );
}

export function Notice({ children }: { children: ComponentChildren }) {
  return (
    <p class="notice" role="status">
      {children}
    </p>
  );
}

/** Table is a table that scrolls by itself, with a note below. */
export function Table(props: { label: string; heads: string[]; class?: string; note?: ComponentChildren; children: ComponentChildren }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={props.label}>
      <table class={props.class}>
        <thead>
          <tr>
            {props.heads.map((head) => (
              <th scope="col">{head}</th>
            ))}
          </tr>
        </thead>
        <tbody>{props.children}</tbody>
      </table>
      {props.note && <p class="small">{props.note}</p>}
    </div>
  );
}

/** others says who wants another value of a property. */
export function others(of: Choice) {
  return Object.entries(of.others ?? {})
    .map(([cluster, value]) => `${cluster}: ${value}`)
    .join(", ");
}

export function NotInSnapshot({ what }: { what: string }) {
  return snapshot ? <Notice>{what} are not in a snapshot.</Notice> : null;
}

export function Select({ label, value, of, onChange }: { label: string; value: string; of: [string, string][]; onChange: (v: string) => void }) {
  return (
    <label>
      {label}{" "}
      <select value={value} onChange={(e) => onChange(e.currentTarget.value)}>
        {of.map(([v, text]) => (
          <option value={v} selected={v === value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Title moves the focus to a page's heading when the page changes, as a browser does for a new document. */
export function Title({ children }: { children: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${heading.current?.textContent} – Atoll`;
    if (document.activeElement === document.body || document.activeElement?.closest("nav")) heading.current?.focus({ preventScroll: true });
  }, [String(children)]);
  return (
    <h1 tabIndex={-1} ref={heading}>
      {children}
    </h1>
  );
}
