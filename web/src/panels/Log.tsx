/** What happened, newest first: schedule, flags, stand-ins, and links to share. */
import { computed } from "@preact/signals";
import { LANES } from "../api/types";
import { jump } from "../state/actions";
import * as s from "../state/store";
import { clockText } from "../state/store";
import { words } from "./format";

export interface Mark { k: number; kind: "event" | "flag" | "fallback" | "spawn"; text: string }

/** Marks of the timeline, from the trace: schedule, flags, stand-ins, spawned cars. Made when the book has grown. */
export const marks = computed((): Mark[] => {
  void s.version.value;
  const book = s.book.value;
  if (!book) return [];
  const out: Mark[] = book.session.schedule.map((e) => ({ k: e.tick, kind: "event", text: e.label }));
  for (const t of book.ticks) {
    for (const lane of LANES) {
      const event = t.lanes[lane];
      for (const f of event.flags) out.push({ k: t.tick + 1, kind: "flag", text: `${lane}: ${words(f.name)}` });
      if (["fallback", "timeout"].includes(event.badge.source) && lane === "oracle") {
        out.push({ k: t.tick + 1, kind: "fallback", text: `${lane}: ${event.badge.label}. ${event.badge.note}` });
      }
    }
  }
  for (const e of book.spawns) out.push({ k: e.tick, kind: "spawn", text: `Spawned ${Object.values(e.ev_id)[0] ?? "a car"}` });
  return out;
});

/** As many as a track can show: the first of each kind in each of its parts. */
const PARTS = 240;
export const spacedMarks = computed((): Mark[] => {
  const total = s.book.value?.session.ticks ?? 1;
  const seen = new Set<string>();
  return marks.value.filter((m) => {
    const key = `${m.kind} ${Math.floor((m.k / total) * PARTS)}`;
    return !seen.has(key) && seen.add(key);
  });
});

export const SIGN: Record<Mark["kind"], string> = { event: "◆", flag: "⚑", fallback: "⚠", spawn: "+" };

export function Log() {
  const book = s.book.value;
  const first = book?.session.start.baseline.minute_of_day ?? 0;
  const step = s.city.value?.step_minutes ?? 5;
  const list = marks.value.filter((m) => m.k <= (book?.length ?? 0)).sort((a, b) => b.k - a.k).slice(0, 300);
  return (
    <section aria-label="Log">
      <h3>Links to share</h3>
      <ul class="links">
        {s.log.value.filter((l) => l.href).slice(-5).reverse().map((l, k) => <li key={k}><a href={l.href ?? ""}>{l.text}</a></li>)}
        {!s.log.value.some((l) => l.href) && <li class="empty">Share makes one.</li>}
      </ul>
      <h3>Events of the run</h3>
      {list.length === 0 && <p class="empty">Nothing has happened yet.</p>}
      <ul class="events">
        {list.map((m, k) => (
          <li key={k}><button class="plain" onClick={() => jump(m.k)}><span aria-hidden="true">{SIGN[m.kind]}</span> {clockText(first + m.k * step)} {m.text}</button></li>
        ))}
      </ul>
    </section>
  );
}
