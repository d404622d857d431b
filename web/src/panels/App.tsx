/** The page: bar, maps, panel, time. */
import { useRef } from "preact/hooks";
import * as s from "../state/store";
import { boot } from "../boot";
import { Decision } from "./Decision";
import { Grid } from "./Grid";
import { Judge } from "./Judge";
import { Legends } from "./Legends";
import { Log } from "./Log";
import { Maps } from "./Maps";
import { Overlays } from "./Overlays";
import { Overview } from "./Overview";
import { Stations } from "./Stations";
import { Timeline } from "./Timeline";
import { TopBar } from "./TopBar";

const PANELS: readonly { id: s.Panel; label: string; view: () => preact.JSX.Element | null }[] = [
  { id: "overview", label: "Overview", view: Overview }, { id: "stations", label: "Stations", view: Stations },
  { id: "grid", label: "Grid", view: Grid }, { id: "decision", label: "Why", view: Decision },
  { id: "log", label: "Log", view: Log }, { id: "judge", label: "Judge", view: Judge },
];

export function App() {
  if (s.fault.value) return <Failed />;
  if (!s.city.value) return <p class="boot" role="status">Loading the city…</p>;
  return (
    <div class={`page ${s.kiosk.value ? "kiosk" : ""}`}>
      <a class="skip" href="#panel">To the numbers</a>
      <TopBar />
      {(s.link.value === "lost" || s.link.value === "gone") && <LinkBar />}
      <Maps />
      <Legends />
      <Side />
      <Timeline />
      <Overlays />
    </div>
  );
}

function Failed() {
  const f = s.fault.value;
  return (
    <div class="boot error" role="alert">
      <h1>The command center cannot start</h1>
      <p>{f?.message} {f?.hint}</p>
      <p><code>{f?.code}</code></p>
      <button class="primary" onClick={() => void boot()}>Try again</button>
    </div>
  );
}

function LinkBar() {
  const gone = s.link.value === "gone";
  return (
    <p class="linkbar" role="status" data-testid="linkbar">
      {gone ? "The server no longer has this session. What was played is still here; New starts it again."
        : "The connection is lost: what you see may be stale. Reconnecting…"}
    </p>
  );
}

function Side() {
  const tabs = useRef<HTMLDivElement>(null);
  const now = PANELS.find((p) => p.id === s.panel.value) ?? PANELS[0];
  const View = now?.view ?? Overview;
  const move = (e: KeyboardEvent): void => {
    const k = PANELS.findIndex((p) => p.id === s.panel.value);
    const to = e.key === "ArrowRight" ? k + 1 : e.key === "ArrowLeft" ? k - 1 : -1;
    const next = PANELS[(to + PANELS.length) % PANELS.length];
    if (!["ArrowRight", "ArrowLeft"].includes(e.key) || !next) return;
    s.panel.value = next.id;
    tabs.current?.querySelector<HTMLButtonElement>(`[data-panel=${next.id}]`)?.focus();
    e.preventDefault();
  };
  return (
    <div class="side">
      <div class="tabs" role="tablist" aria-label="Panels" ref={tabs} onKeyDown={move}>
        {PANELS.map((p) => (
          <button key={p.id} role="tab" id={`tab-${p.id}`} aria-selected={p.id === s.panel.value} aria-controls="panel" data-panel={p.id}
            tabIndex={p.id === s.panel.value ? 0 : -1} onClick={() => { s.panel.value = p.id; }}>{p.label}</button>
        ))}
      </div>
      <div class="panel" id="panel" role="tabpanel" aria-labelledby={`tab-${s.panel.value}`} tabIndex={0}><View /></div>
    </div>
  );
}
