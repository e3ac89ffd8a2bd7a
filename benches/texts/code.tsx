import { useEffect, useMemo, useState } from "react";
import type { ReactNode } from "react";

type Level = { station: string; minute: number; level: number };
type Props<T> = { rows: T[]; empty?: ReactNode; render: (row: T, at: number) => ReactNode };

function List<T extends { station: string }>({ rows, empty = "No data", render }: Props<T>) {
  if (rows.length === 0) return <p className="empty">{empty}</p>;
  return <ul>{rows.map((row, at) => <li key={`${row.station}-${at}`}>{render(row, at)}</li>)}</ul>;
}

export async function load(url: string, signal?: AbortSignal): Promise<Level[]> {
  const answer = await fetch(url, { headers: { accept: "application/json" }, signal });
  if (!answer.ok) throw new Error(`HTTP ${answer.status} ${answer.statusText}`);
  const body: unknown = await answer.json();
  return Array.isArray(body) ? body.filter((x): x is Level => typeof x?.level === "number") : [];
}

export default function Board({ url, limit = 20 }: { url: string; limit?: number }) {
  const [rows, setRows] = useState<Level[]>([]);
  const [fault, setFault] = useState<string | null>(null);

  useEffect(() => {
    const abort = new AbortController();
    load(url, abort.signal).then(setRows, (e) => !abort.signal.aborted && setFault(String(e)));
    return () => abort.abort();
  }, [url]);

  const highest = useMemo(
    () => [...rows].sort((a, b) => b.level - a.level || a.minute - b.minute).slice(0, limit),
    [rows, limit],
  );

  return (
    <section aria-busy={!rows.length && !fault}>
      <h2>High water</h2>
      {fault && <strong role="alert">{fault}</strong>}
      <List rows={highest} render={(r) => <><b>{r.station}</b>: {r.level.toFixed(2)} m</>} />
    </section>
  );
}
