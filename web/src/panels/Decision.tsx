/** Why: prompt, answer, parse, verdict, reward term by term, and what another policy would have done. */
import { effect, signal } from "@preact/signals";
import { inspect } from "../api/client";
import type { Inspection, InspectAnswer } from "../api/types";
import * as s from "../state/store";
import { css, OKABE } from "../theme/palettes";
import { signed, words } from "./format";

const found = signal<Inspection | null>(null);
const state = signal<"idle" | "loading" | "error">("idle");
const why = signal("");
const ask = signal("planner");
const WAIT_MS = 250;
let wanted = "";
let timer: ReturnType<typeof setTimeout> | undefined;

/** Ask the server for the tick on the clock, once it stands still. */
effect(() => {
  void s.version.value;
  const book = s.book.value;
  const tick = s.at.value - 1;
  if (s.panel.value !== "decision" || !book || tick < 0 || s.playing.value) return;
  const key = `${book.session.session_id} ${s.lane.value} ${tick} ${ask.value}`;
  if (key === wanted) return;
  wanted = key;
  const lane = s.lane.value;
  clearTimeout(timer);
  state.value = "loading";
  timer = setTimeout(() => {
    inspect(book.session.session_id, lane, tick, ask.value).then((reply) => {
      if (wanted !== key) return;
      found.value = reply;
      state.value = "idle";
    }, (error: unknown) => {
      if (wanted !== key) return;
      why.value = error instanceof Error ? error.message : String(error);
      state.value = "error";
      found.value = null;
    });
  }, WAIT_MS);
});

export function Decision() {
  const book = s.book.value;
  const city = s.city.value;
  if (!city || !book) return <p class="empty">Start a session to look into its decisions.</p>;
  const frame = book.lane(s.lane.value, s.at.value)?.frame;
  if (!frame) return <p class="empty">No tick has been played here. Step, or move the clock.</p>;
  const d = found.value?.tick === frame.tick && found.value.lane === s.lane.value ? found.value : null;
  return (
    <section aria-label="Decision" data-testid="decision">
      <h3>Tick {frame.tick}, {s.clockText(frame.minute_of_day)} <small>{s.lane.value} · source {frame.source} · digest {frame.digest.slice(0, 10)}</small></h3>
      <Waterfall values={frame.breakdown} total={frame.reward} />
      {state.value === "loading" && <p class="skeleton" role="status">Playing up to this tick again to see its prompt…</p>}
      {state.value === "error" && (
        <div class="error" role="alert">
          <p>The server could not say: {why.value}</p>
          <p>Below are the answers as the trace has them.</p>
          <button onClick={() => { wanted = ""; s.version.value++; }}>Try again</button>
        </div>
      )}
      <div class="row">
        <label>Compare with <select value={ask.value} onChange={(e) => { ask.value = e.currentTarget.value; }}>
          {city.policies.filter((p) => p !== "clairvoyant").map((p) => <option key={p}>{p}</option>)}
        </select></label>
        {d && <small>{d.same_world ? "✓ the digest says: the same world" : "⚠ not the same world: do not trust this view"}</small>}
      </div>
      <Answers d={d} trace={frame.answers.map((a) => ({ ...a, station_id: a.station < 0 ? null : city.stations[a.station]?.id ?? null }))} />
      {d && (
        <>
          <details open><summary>Answer <small>({d.text_is})</small></summary><pre data-testid="answer-text" tabIndex={0}>{d.text || "No car was answered."}</pre></details>
          <p data-testid="parse">Parser: <b>{d.parse.ok ? `✓ ${d.parse.actions} actions` : "✗ refused"}</b>{" "}
            {d.parse.errors.map((e) => `${e.code} in line ${e.line}: ${e.message} ${e.hint}`).join(" ")}</p>
          <details><summary>Prompt <small>({d.pending.length} cars pending)</small></summary><pre tabIndex={0}>{d.prompt ?? "Nobody was pending, so nothing was asked."}</pre></details>
        </>
      )}
    </section>
  );
}

/** The reward of the tick: bars that add up to the total. */
function Waterfall({ values, total }: { values: Record<string, number>; total: number }) {
  const city = s.city.value;
  const names = (city?.terms ?? []).map((t) => t.name).filter((n) => n in values);
  const ends: [number, number][] = [];
  let sum = 0;
  for (const name of names) {
    ends.push([sum, sum + (values[name] ?? 0)]);
    sum += values[name] ?? 0;
  }
  const low = Math.min(0, ...ends.flat());
  const span = Math.max(0, ...ends.flat()) - low || 1;
  const x = (v: number): number => ((v - low) / span) * 100;
  return (
    <table class="waterfall" data-testid="waterfall">
      <caption>Reward of the tick, car-minutes / N0; a tick of the baseline costs about 1</caption>
      <tbody>
        {names.map((name, k) => {
          const [a, b] = ends[k] as [number, number];
          return (
            <tr key={name} title={city?.terms.find((t) => t.name === name)?.sentence}>
              <th scope="row">{words(name)}</th>
              <td class="bar"><i style={{ left: `${x(Math.min(a, b))}%`, width: `${Math.max(x(Math.max(a, b)) - x(Math.min(a, b)), 0.4)}%`, background: css(b < a ? OKABE.orange : OKABE.sky) }} /></td>
              <td class="n" data-term={name} data-exact={String(values[name])}>{signed(values[name] ?? null)}</td>
            </tr>
          );
        })}
        <tr class="sum"><th scope="row">total</th><td /><td class="n" data-term="total" data-exact={String(total)}>{signed(total)}</td></tr>
      </tbody>
    </table>
  );
}

const act = (a: InspectAnswer): string =>
  a.action_type === "defer" ? `defer ${a.defer_minutes} min`
    : `${words(a.action_type)} ${a.station_id ?? ""} ${words(a.charge_rate)}${a.action_type === "load_shift" ? ` ${a.defer_minutes} min` : ""}`;

function Answers({ d, trace }: { d: Inspection | null; trace: InspectAnswer[] }) {
  const rows = d?.answers ?? trace;
  const other = d?.other;
  const key = (a: InspectAnswer): string => `${a.ev_id} ${a.action_type === "load_shift" ? "shift" : "car"}`;
  const ids = [...new Set([...rows, ...(other?.answers ?? [])].map(key))];
  return (
    <table class="answers">
      <caption>{rows.length} answers{other ? `; beside them what ${other.policy} would have done` : ""}</caption>
      <thead><tr><th>Car</th><th>Answer</th><th>Verdict</th>{other && <th>{other.policy}</th>}</tr></thead>
      <tbody>
        {ids.map((id) => {
          const a = rows.find((r) => key(r) === id);
          const b = other?.answers.find((r) => key(r) === id);
          const same = a && b && act(a) === act(b);
          return (
            <tr key={id}>
              <td>{(a ?? b)?.ev_id ?? "first"}</td>
              <td>{a ? act(a) : "left waiting"}</td>
              <td>{a ? (a.code ? `✗ ${a.code}` : "✓ legal") : ""} {a?.code && <small>{a.verdict}</small>}</td>
              {other && <td>{same ? "same" : b ? act(b) : "leave waiting"}</td>}
            </tr>
          );
        })}
        {ids.length === 0 && <tr><td colSpan={4}>No car was answered in this tick.</td></tr>}
      </tbody>
    </table>
  );
}
