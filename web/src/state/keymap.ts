/** Keys; off while something is typed. The help overlay shows this very table. */
import { jump, leaveJudge, run, setSpeed, setTheme, startJudge, stepOnce, togglePlay, goLive, newSession } from "./actions";
import { SPEEDS } from "../replay/clock";
import * as s from "./store";

export interface Key { keys: string; what: string; on(event: KeyboardEvent): boolean; act(): void }

const plainKey = (key: string) => (e: KeyboardEvent): boolean => e.key === key && !e.ctrlKey && !e.metaKey && !e.altKey;
const faster = (by: number): void => {
  const k = SPEEDS.indexOf(s.speed.value as (typeof SPEEDS)[number]) + by;
  setSpeed(SPEEDS[Math.max(0, Math.min(k, SPEEDS.length - 1))] as number);
};
const themes: s.Theme[] = ["auto", "dark", "light", "contrast"];
const modes: s.Mode[] = ["ab", "swipe", "diff"];
const after = <T>(list: readonly T[], now: T): T => list[(list.indexOf(now) + 1) % list.length] as T;

export const KEYS: readonly Key[] = [
  { keys: "Space", what: "play or pause", on: plainKey(" "), act: togglePlay },
  { keys: "← →", what: "one tick back or on", on: (e) => e.key === "ArrowLeft" && !e.shiftKey, act: () => jump(Math.ceil(s.clock.position - 1e-6) - 1) },
  { keys: "", what: "", on: (e) => e.key === "ArrowRight" && !e.shiftKey, act: () => jump(Math.floor(s.clock.position + 1e-6) + 1) },
  { keys: "⇧ ← →", what: "an hour back or on", on: (e) => e.key === "ArrowLeft" && e.shiftKey, act: () => jump(s.clock.position - 12) },
  { keys: "", what: "", on: (e) => e.key === "ArrowRight" && e.shiftKey, act: () => jump(s.clock.position + 12) },
  { keys: "Home End", what: "start, newest tick", on: plainKey("Home"), act: () => jump(0) },
  { keys: "", what: "", on: plainKey("End"), act: () => jump(Infinity) },
  { keys: "[ ]", what: "slower, faster", on: plainKey("["), act: () => faster(-1) },
  { keys: "", what: "", on: plainKey("]"), act: () => faster(1) },
  { keys: "N", what: "new session", on: plainKey("n"), act: () => void newSession() },
  { keys: "S", what: "step: play one tick on the server", on: plainKey("s"), act: () => void stepOnce() },
  { keys: "R", what: "run to the end, or stop", on: plainKey("r"), act: () => void run() },
  { keys: "V", what: "live: stay at the newest tick", on: plainKey("v"), act: goLive },
  { keys: "A B", what: "panels show the baseline, the oracle", on: plainKey("a"), act: () => { s.lane.value = "baseline"; } },
  { keys: "", what: "", on: plainKey("b"), act: () => { s.lane.value = "oracle"; } },
  { keys: "D", what: "side by side, swipe, difference", on: plainKey("d"), act: () => { s.mode.value = after(modes, s.mode.value); } },
  { keys: "1 – 7", what: "layers on and off", on: (e) => /^[1-7]$/.test(e.key) && !e.ctrlKey && !e.metaKey, act: () => undefined },
  { keys: "L", what: "layer list", on: plainKey("l"), act: () => { s.layersOpen.value = !s.layersOpen.value; } },
  { keys: "T", what: "theme", on: plainKey("t"), act: () => setTheme(after(themes, s.theme.value)) },
  { keys: "J", what: "Judge Mode in and out", on: plainKey("j"), act: () => (s.judge.value ? leaveJudge() : void startJudge()) },
  { keys: "G", what: "guided tour", on: plainKey("g"), act: () => { s.tour.value = s.tour.value === null ? 0 : null; } },
  { keys: "?", what: "this list", on: plainKey("?"), act: () => { s.help.value = !s.help.value; } },
  { keys: "Esc", what: "close, let go of the selection", on: plainKey("Escape"), act: escape },
];

function escape(): void {
  if (s.help.value) s.help.value = false;
  else if (s.layersOpen.value) s.layersOpen.value = false;
  else if (s.tour.value !== null) s.tour.value = null;
  else if (s.selection.value || s.follow.value) {
    s.selection.value = null;
    s.follow.value = null;
  } else if (s.kiosk.value) s.kiosk.value = false;
}

const typing = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && !target.closest(".track") && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
const ownsKey = (target: EventTarget | null, key: string): boolean =>
  target instanceof HTMLElement
  && ((key === " " && /^(BUTTON|SUMMARY|A)$/.test(target.tagName))
    || (key.startsWith("Arrow") && (target.closest("[role=tablist],[role=slider],.maplibregl-map") !== null)));

export function listenToKeys(): void {
  window.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" && (typing(event.target) || ownsKey(event.target, event.key))) return;
    const key = KEYS.find((k) => k.on(event));
    if (!key) return;
    if (/^[1-7]$/.test(event.key)) toggleLayer(Number(event.key) - 1);
    else key.act();
    event.preventDefault();
  });
}

export function toggleLayer(k: number): void {
  const layer = s.LAYERS[k];
  if (!layer) return;
  const set = s.layers.value[layer.id];
  s.layers.value = { ...s.layers.value, [layer.id]: { ...set, on: !set.on } };
}
