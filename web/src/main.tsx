import { effect } from "@preact/signals";
import { render } from "preact";
import { boot } from "./boot";
import { App } from "./panels/App";
import { stage } from "./panels/Maps";
import { listenToKeys } from "./state/keymap";
import * as s from "./state/store";
import { readUrl, writeUrl } from "./state/url";
import { loadFonts } from "./theme/fonts";
import { followSystem } from "./theme/theme";
import "./theme/tokens.css";
import "./theme/page.css";
import "./theme/panels.css";

/** Panels follow the clock ten times a second; the maps follow it every frame by themselves. */
const PANEL_MS = 100;

followSystem();
const root = document.getElementById("app");
if (root) {
  root.replaceChildren();
  render(<App />, root);
}
listenToKeys();

let told = 0;
s.clock.listen((position, jumped) => {
  const now = performance.now();
  if (!jumped && s.clock.playing && now - told < PANEL_MS) return;
  told = now;
  s.position.value = position;
});

let writing: ReturnType<typeof setTimeout> | undefined;
let restored = false;
effect(() => {
  void [s.setup.value, s.version.value, s.speed.value, s.follow.value, s.judge.value, s.tour.value, s.mode.value, s.panel.value,
    s.lane.value, s.theme.value, s.kiosk.value, s.selection.value, s.layers.value, s.layerOrder.value, s.camera.value, s.at.value];
  if (!restored || s.playing.value) return;
  clearTimeout(writing);
  writing = setTimeout(() => writeUrl(), 250);
});
addEventListener("popstate", () => {
  readUrl(location.search);
});

void loadFonts().then(boot).then(() => {
  restored = true;
  writeUrl();
});

/** For tests and the benchmark: what is shown, to compare with the trace. */
declare global {
  interface Window { evgrid?: unknown }
}
window.evgrid = { store: s, stage: () => stage };
