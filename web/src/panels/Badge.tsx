/** What really acted in a lane, beside its name and beside every headline. */
import type { LaneName } from "../api/types";
import * as s from "../state/store";

/** Sources that mean: this was not the policy that was asked for. */
const STOOD_IN = ["fallback", "timeout", "skipped"];

export function badgeOf(lane: LaneName): { label: string; warn: boolean; note: string } | null {
  void s.version.value;
  const book = s.book.value;
  if (!book) return null;
  const event = book.lane(lane, s.at.value);
  const badge = event?.badge ?? book.session.lanes[lane].badge;
  const counts = event?.sources ?? {};
  const stood = STOOD_IN.map((x) => [x, counts[x] ?? 0] as const).filter(([, n]) => n > 0);
  const warn = STOOD_IN.includes(badge.source) || stood.length > 0;
  const timeout = badge.source === "timeout" || (counts.timeout ?? 0) > 0;
  const label = timeout ? "TIMEOUT->baseline" : badge.source === "fallback" ? `FALLBACK: ${badge.acted}`
    : badge.source === "skipped" ? `SKIPPED: ${badge.acted}` : badge.label;
  const how = stood.map(([x, n]) => `${x} in ${n} ticks`).join(", ");
  return { label, warn, note: [`source: ${badge.source}`, how, badge.note].filter(Boolean).join(". ") };
}

export function Badge({ lane }: { lane: LaneName }) {
  const badge = badgeOf(lane);
  if (!badge) return null;
  return (
    <span class={`badge ${badge.warn ? "warn" : ""}`} title={badge.note} data-testid={`badge-${lane}`}>
      {badge.warn ? "⚠ " : ""}{badge.label}
    </span>
  );
}
