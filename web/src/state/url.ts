/** The address holds the whole view: what is played, where the clock stands, what is shown and selected. */
import * as s from "./store";
import type { LayerId, Mode, Panel, Theme } from "./store";

const MODES: readonly Mode[] = ["ab", "swipe", "diff"];
const PANELS: readonly Panel[] = ["overview", "stations", "grid", "decision", "log", "judge"];
const THEMES: readonly Theme[] = ["auto", "dark", "light", "contrast"];

const oneOf = <T extends string>(value: string | null, known: readonly T[]): T | null =>
  known.find((k) => k === value) ?? null;
const num = (value: string | null): number | null => {
  const n = value === null || value === "" ? NaN : Number(value);
  return Number.isFinite(n) ? n : null;
};

/** Query parameters of the present view. */
export function viewParams(): URLSearchParams {
  const q = new URLSearchParams();
  const { seed, scenario, fleet, baseline, oracle, ticks } = s.setup.value;
  if (seed !== "") q.set("seed", seed);
  q.set("scenario", scenario);
  if (fleet !== "mixed") q.set("fleet", fleet);
  if (oracle !== "oracle") q.set("lora", oracle);
  if (baseline !== "baseline") q.set("base", baseline);
  if (ticks !== 48) q.set("ticks", String(ticks));
  if (s.book.value?.length) {
    q.set("played", String(s.book.value.length));
    q.set("t", (Math.round(s.position.value * 100) / 100).toString());
  }
  if (s.speed.value !== 1) q.set("speed", String(s.speed.value));
  if (s.follow.value) q.set("follow", s.follow.value);
  if (s.judge.value) q.set("judge", "1");
  if (s.tour.value !== null) q.set("tour", String(s.tour.value));
  if (s.mode.value !== "ab") q.set("mode", s.mode.value);
  if (s.panel.value !== "overview") q.set("panel", s.panel.value);
  if (s.lane.value !== "oracle") q.set("lane", s.lane.value);
  if (s.theme.value !== "auto") q.set("theme", s.theme.value);
  if (s.kiosk.value) q.set("kiosk", "1");
  const chosen = s.selection.value;
  if (chosen) q.set("sel", `${chosen.kind}:${chosen.id}`);
  q.set("layers", s.layerOrder.value.concat("labels").filter((id) => s.layers.value[id].on).join("."));
  const c = s.camera.value;
  if (c) q.set("cam", `${c.lon.toFixed(4)},${c.lat.toFixed(4)},${c.zoom.toFixed(2)}`);
  return q;
}

export function shareUrl(): string {
  const url = new URL(location.href);
  url.search = viewParams().toString();
  url.hash = "";
  return url.toString();
}

let written = "";
/** Write the view to the address bar; `jump` adds a step to the history. */
export function writeUrl(jump = false): void {
  const url = shareUrl();
  if (url === written) return;
  written = url;
  if (jump) history.pushState(null, "", url);
  else history.replaceState(null, "", url);
}

export interface Asked { start: boolean; played: number; position: number; judge: boolean; tour: number | null }

/** Take a view from the address; returns what must still be played to get there. */
export function readUrl(search: string): Asked {
  const q = new URLSearchParams(search);
  const ticks = num(q.get("ticks"));
  s.setup.value = {
    seed: /^\d{1,10}$/.test(q.get("seed") ?? "") ? (q.get("seed") as string) : "",
    scenario: q.get("scenario") ?? "baseline", fleet: q.get("fleet") ?? "mixed",
    // a name of the server's own list, or the server refuses it: nothing is loaded by what an address says
    oracle: q.get("lora") ?? "oracle", baseline: q.get("base") ?? "baseline",
    ticks: ticks !== null && Number.isInteger(ticks) && ticks >= 1 && ticks <= 2016 ? ticks : 48,
  };
  const speed = num(q.get("speed"));
  if (speed !== null && [1, 2, 4, 8, 16].includes(speed)) s.clock.speed = s.speed.value = speed;
  s.follow.value = q.get("follow");
  s.mode.value = oneOf(q.get("mode"), MODES) ?? "ab";
  s.panel.value = oneOf(q.get("panel"), PANELS) ?? "overview";
  s.lane.value = oneOf(q.get("lane"), ["baseline", "oracle"] as const) ?? "oracle";
  s.theme.value = oneOf(q.get("theme"), THEMES) ?? s.theme.value;
  s.kiosk.value = q.get("kiosk") === "1";
  const [kind, id] = (q.get("sel") ?? "").split(":");
  const known = oneOf(kind ?? null, ["station", "car", "feeder"] as const);
  if (known && id) s.selection.value = { kind: known, id };
  const layers = q.get("layers");
  if (layers !== null) {
    const on = new Set(layers.split("."));
    s.layers.value = Object.fromEntries(
      Object.entries(s.layers.value).map(([name, set]) => [name, { ...set, on: on.has(name) }]),
    ) as Record<LayerId, s.LayerSetting>;
    const order = layers.split(".").filter((n): n is LayerId => s.layerOrder.value.includes(n as LayerId));
    s.layerOrder.value = [...s.layerOrder.value.filter((n) => !order.includes(n)), ...order];
  }
  const cam = (q.get("cam") ?? "").split(",").map(Number);
  if (cam.length === 3 && cam.every(Number.isFinite)) {
    s.camera.value = { lon: cam[0] as number, lat: cam[1] as number, zoom: cam[2] as number };
  }
  const played = Math.max(0, Math.min(num(q.get("played")) ?? 0, 2016));
  const tour = num(q.get("tour"));
  return {
    start: q.has("seed") || played > 0 || q.has("follow"), played, position: num(q.get("t")) ?? played,
    judge: q.get("judge") === "1", tour: tour === null ? null : Math.max(0, Math.floor(tour)),
  };
}
