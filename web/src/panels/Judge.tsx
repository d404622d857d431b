/** Judge Mode: the two agents' negotiation tick by tick, each claim and promise with the simulator's verdict. */
import { signal } from "@preact/signals";
import type { Agent, GameTick } from "../api/types";
import { judgeBusy, judgeStep, leaveJudge, startJudge } from "../state/actions";
import * as s from "../state/store";
import { clockText } from "../state/store";
import { percent, shown, signed, words } from "./format";

const AGENTS: readonly Agent[] = ["grid_operator", "fleet_dispatcher"];
const SIGNS: readonly [string, string][] = [["true", "✓"], ["kept", "✓"], ["false", "✗"], ["broken", "✗"], ["running", "…"]];
const mark = (verdict: string): string => `${SIGNS.find(([start]) => verdict.startsWith(start))?.[1] ?? "–"} ${verdict}`;
const operatorSays = signal("");
const dispatcherSays = signal("");

export function Judge() {
  const game = s.game.value;
  if (!s.judge.value || !game) {
    return (
      <section aria-label="Judge Mode" class="launcher">
        <h2>Judge Mode</h2>
        <p>A grid operator and a fleet dispatcher act on one world, and speak. The simulator judges every claim and promise.</p>
        <button class="primary" onClick={() => void startJudge()}>Start a game on this scenario</button>
      </section>
    );
  }
  const { reply, timeline, shown: at } = game;
  const tick = timeline[at - 1];
  const busy = judgeBusy();
  return (
    <section aria-label="Judge Mode" data-testid="judge">
      <h3>Two agents <small>tick {reply.tick} · {s.setup.value.scenario}{reply.done ? " · over" : ""}</small></h3>
      <div class="row">
        <button class="primary" disabled={busy || reply.done} onClick={() => void judgeStep(1)}>Step</button>
        <button disabled={busy || reply.done} onClick={() => void judgeStep(12)}>Run an hour</button>
        <button onClick={leaveJudge}>Leave Judge Mode</button>
      </div>
      {timeline.length > 0 && (
        <label class="wide">Tick {at} of {timeline.length}
          <input type="range" min={0} max={timeline.length} value={at}
            onInput={(e) => { s.game.value = { ...game, shown: Number(e.currentTarget.value) }; }} />
        </label>
      )}
      <Totals tick={tick} />
      <form class="says" onSubmit={(e) => {
        e.preventDefault();
        void judgeStep(1, [operatorSays.value, dispatcherSays.value]);
      }}>
        <label>Grid operator says <input value={operatorSays.value} maxLength={400} placeholder="CLAIM load F03 >= 0.8" onInput={(e) => { operatorSays.value = e.currentTarget.value; }} /></label>
        <label>Dispatcher says <input value={dispatcherSays.value} maxLength={400} placeholder="PROMISE avoid BLR-07 FOR 4" onInput={(e) => { dispatcherSays.value = e.currentTarget.value; }} /></label>
        <button disabled={busy || reply.done}>Step with these messages</button>
        <small>In such a tick no car is answered: the messages are all that is sent.</small>
      </form>
      {timeline.length === 0 && <p class="empty">Nothing has been said. <b>Step</b> lets the built-in players act.</p>}
      <ol class="talk" reversed>
        {timeline.slice(0, at).reverse().map((t) => <Talk key={t.tick} tick={t} />)}
      </ol>
      {reply.done && <RoleKpis />}
    </section>
  );
}

function Totals({ tick }: { tick: GameTick | undefined }) {
  return (
    <table class="totals">
      <thead><tr><th>Role</th><th class="n">Reward so far</th><th class="n">Negotiation points</th></tr></thead>
      <tbody>{AGENTS.map((a) => (
        <tr key={a}><td>{words(a)}</td><td class="n">{tick ? shown(tick.totals[a]) : "0"}</td><td class="n">{tick ? signed(tick.negotiation[a]) : "0"}</td></tr>
      ))}</tbody>
    </table>
  );
}

function Talk({ tick }: { tick: GameTick }) {
  const start = Number(s.game.value?.views[0]?.fleet_dispatcher.view.minute_of_day ?? 0);
  const caps = Object.entries((tick.directive.feeder_caps ?? {}) as Record<string, number>);
  const said = AGENTS.filter((a) => tick.messages[a]);
  return (
    <li>
      <time>{clockText(start + tick.tick * (s.city.value?.step_minutes ?? 5))}</time> tick {tick.tick}
      {caps.length > 0 && <p class="about">Directive in force: {caps.map(([f, v]) => `${f} ≤ ${percent(v)}`).join(", ")}</p>}
      {said.length === 0 && tick.verdicts.length === 0 && <p class="about">Nothing was said.</p>}
      {said.map((a) => <p key={a}><b>{words(a)}:</b> <q>{tick.messages[a]}</q></p>)}
      {tick.verdicts.map((v, k) => (
        <p key={k} class={`verdict ${v.verdict.split(",")[0]}`} data-verdict={v.verdict}>
          <b>{mark(v.verdict)}</b> {words(v.agent)} · {v.kind}: {v.text} <span>{signed(v.points)}</span>
        </p>
      ))}
      {tick.violations.length > 0 && <p class="verdict broken"><b>✗ directive broken</b> by {tick.violations.length} answers</p>}
    </li>
  );
}

function RoleKpis() {
  const found = s.game.value?.reply.observations.grid_operator.info.role_kpis as Record<string, Record<string, number | null>> | undefined;
  if (!found) return null;
  return (
    <table><caption>Role KPIs, after the settle</caption><tbody>
      {Object.entries(found).flatMap(([role, kpis]) => Object.entries(kpis).map(([name, value]) => (
        <tr key={role + name}><td>{role}</td><td>{words(name)}</td><td class="n">{shown(value)}</td></tr>
      )))}
    </tbody></table>
  );
}
