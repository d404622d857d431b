/** Both maps with their lane's name and badge, layers; lists where there are no graphics. */
import { useEffect, useRef } from "preact/hooks";
import type { LaneName } from "../api/types";
import { STATES } from "../map/scales";
import { canDraw } from "../map/canDraw";
import type { Stage } from "../map/stage";
import { stationRows } from "../map/stationData";
import * as s from "../state/store";
import { Badge } from "./Badge";
import { shown } from "./format";

export let stage: Stage | null = null;

export function Maps() {
  const left = useRef<HTMLDivElement>(null);
  const right = useRef<HTMLDivElement>(null);
  const city = s.city.value;
  const mode = s.judge.value ? "judge" : s.mode.value;
  useEffect(() => {
    const [a, b] = [left.current, right.current];
    if (!city || !a || !b) return;
    if (!canDraw()) {
      s.noMap.value = true;
      return;
    }
    let gone = false;
    // the map's libraries are most of the page: what can be read without them is there first
    import("../map/stage").then(({ Stage }) => {
      if (!gone) stage = new Stage({ baseline: a, oracle: b }, city);
    }, (error: unknown) => {
      s.noMap.value = true;
      s.say(`The map could not be loaded: ${String(error)}`, "error");
    });
    return () => {
      gone = true;
      stage?.remove();
      stage = null;
    };
  }, [city]);
  const cut = mode === "swipe" ? { clipPath: `inset(0 0 0 ${s.swipe.value * 100}%)` } : {};
  return (
    <main class={`maps ${mode}`} id="maps" aria-label="Maps">
      <div class="lane a">
        <div ref={left} class="map" role="application" aria-label="Map of the baseline" data-testid="map-baseline" />
        <LaneTitle lane="baseline" />
      </div>
      <div class="lane b" style={cut}>
        <div ref={right} class="map" role="application" aria-label={mode === "diff" ? "Map of the difference" : mode === "judge" ? "Map of the two-agent game" : "Map of the oracle"} data-testid="map-oracle" />
        <LaneTitle lane="oracle" />
      </div>
      {mode === "swipe" && (
        <i class="divider" aria-hidden="true" style={{ left: `${s.swipe.value * 100}%` }} />
      )}
      {mode === "swipe" && (
        <input class="swiper" type="range" min={0} max={1} step={0.01} value={s.swipe.value} aria-label="Where baseline ends and oracle begins"
          onInput={(e) => { s.swipe.value = Number(e.currentTarget.value); }} />
      )}
      {s.noMap.value && <FlatList />}
      {s.layersOpen.value && <LayerList />}
    </main>
  );
}

function LaneTitle({ lane }: { lane: LaneName }) {
  const judge = s.judge.value;
  const diff = s.mode.value === "diff" && !judge;
  void s.version.value;
  const event = s.book.value?.lane(lane, s.at.value);
  return (
    <div class="lane-title" data-lane={lane}>
      <button class="name" aria-pressed={s.lane.value === lane} onClick={() => { s.lane.value = lane; }} title="Show this lane in the panels">
        {judge ? "Two agents" : diff ? "Oracle − baseline" : lane === "baseline" ? "A · Baseline" : "B · Oracle"}
      </button>
      {!judge && !diff && <Badge lane={lane} />}
      {event && !judge && !diff && (
        <span class="chips">
          <span title="Reward of the tick, car-minutes / N0">reward {shown(event.frame.reward)}</span>
          <span>{event.frame.pending} pending</span>
          {event.flags.length > 0 && <span class="flagged" title={event.flags.map((f) => f.detail).join("\n")}>⚑ {event.flags.length}</span>}
        </span>
      )}
      {s.link.value === "lost" && <span class="badge warn">stale: reconnecting</span>}
    </div>
  );
}

function LayerList() {
  const set = (id: s.LayerId, change: Partial<s.LayerSetting>): void => {
    s.layers.value = { ...s.layers.value, [id]: { ...s.layers.value[id], ...change } };
  };
  const raise = (id: s.LayerId, by: number): void => {
    const list = [...s.layerOrder.value];
    const k = list.indexOf(id);
    const to = Math.max(0, Math.min(k + by, list.length - 1));
    list.splice(to, 0, ...list.splice(k, 1));
    s.layerOrder.value = list;
  };
  return (
    <aside class="layers" aria-label="Layers" data-testid="layers">
      <h3>Layers</h3>
      {s.LAYERS.map(({ id, label }, k) => {
        const x = s.layers.value[id];
        return (
          <div class="row" key={id}>
            <label><input type="checkbox" checked={x.on} onChange={() => set(id, { on: !x.on })} /> {label} <kbd>{k + 1}</kbd></label>
            <input type="range" min={0.1} max={1} step={0.05} value={x.opacity} aria-label={`Opacity of ${label}`} onInput={(e) => set(id, { opacity: Number(e.currentTarget.value) })} />
            {id !== "labels" && <><button aria-label={`${label} up`} onClick={() => raise(id, 1)}>↑</button><button aria-label={`${label} down`} onClick={() => raise(id, -1)}>↓</button></>}
          </div>
        );
      })}
    </aside>
  );
}

/** Both lanes as lists: what remains when the browser has no graphics. */
function FlatList() {
  const city = s.city.value;
  const book = s.book.value;
  if (!city) return null;
  return (
    <div class="flat" role="region" aria-label="Stations of both lanes as lists" tabIndex={0} data-testid="flat">
      <p><b>No map:</b> this browser has no WebGL now. The stations of both lanes as lists:</p>
      {!book && <p>Start a session to see them.</p>}
      {book && (["baseline", "oracle"] as const).map((lane) => (
        <ul key={lane} aria-label={lane}>
          <li><b>{lane}</b></li>
          {stationRows(city, book.state(lane, s.at.value)).map((r) => <li key={r.station.id}>{r.station.name}: {r.text}, {r.queued} queued, {STATES[r.state].label}</li>)}
        </ul>
      ))}
    </div>
  );
}
