/** What to play, and the page's commands. */
import { leaveJudge, newSession, note, run, setTheme, startJudge, stepOnce } from "../state/actions";
import * as s from "../state/store";
import { shareUrl } from "../state/url";
import { exportCsv, exportPng } from "../state/exports";
import { exportJson, openFile } from "../state/files";
import { cinema, openCinema } from "../cinemaSeam";

export function TopBar() {
  const city = s.city.value;
  const set = (change: Partial<s.Setup>): void => {
    s.setup.value = { ...s.setup.value, ...change };
  };
  const x = s.setup.value;
  const story = city?.scenarios.find((y) => y.name === x.scenario);
  const busy = s.busy.value !== null;
  return (
    <header class="top">
      <h1>EV Grid Oracle <small>{city?.name}</small></h1>
      <form class="setup" onSubmit={(e) => { e.preventDefault(); void newSession(); }} aria-label="Session">
        <label>Scenario <select value={x.scenario} onChange={(e) => set({ scenario: e.currentTarget.value })} title={story?.sentence}>
          {city?.scenarios.map((y) => <option key={y.name} value={y.name}>{y.name}</option>)}
        </select></label>
        <label>Seed <input inputMode="numeric" size={8} value={x.seed} placeholder={story ? `story ${story.story_seed}` : ""} onInput={(e) => set({ seed: e.currentTarget.value })} /></label>
        <label>Fleet <select value={x.fleet} onChange={(e) => set({ fleet: e.currentTarget.value })}>{city?.fleets.map((f) => <option key={f}>{f}</option>)}</select></label>
        <label>Oracle <select value={x.oracle} onChange={(e) => set({ oracle: e.currentTarget.value })}>{city?.policies.map((f) => <option key={f}>{f}</option>)}</select></label>
        <button class="primary" disabled={busy || !city}>New</button>
        <button type="button" disabled={!s.book.value || busy || s.running.value} onClick={() => void stepOnce()}>Step</button>
        <button type="button" disabled={!s.book.value || busy} aria-pressed={s.running.value} onClick={() => void run()} data-testid="run">{s.running.value ? "Stop" : "Run"}</button>
      </form>
      <div class="tools" role="group" aria-label="View">
        <select aria-label="Compare" value={s.mode.value} onChange={(e) => { s.mode.value = e.currentTarget.value as s.Mode; }}>
          <option value="ab">Side by side</option><option value="swipe">Swipe</option><option value="diff">Difference</option>
        </select>
        <button aria-pressed={s.layersOpen.value} onClick={() => { s.layersOpen.value = !s.layersOpen.value; }}>Layers</button>
        <button aria-pressed={s.judge.value} onClick={() => (s.judge.value ? leaveJudge() : void startJudge())}>Judge</button>
        <button onClick={() => { s.tour.value = s.tour.value === null ? 0 : null; }}>Tour</button>
        {cinema && <button onClick={() => void openCinema()}>Cinema</button>}
        <details class="menu">
          <summary>Share</summary>
          <div>
            <button onClick={() => void copyLink()}>Copy link to this view</button>
            <button onClick={() => void exportPng()}>PNG of the maps</button>
            <button onClick={exportCsv}>CSV of both lanes</button>
            <button onClick={exportJson}>JSON of the run</button>
            <label class="button">Open a file <input type="file" accept=".json,.evt,application/json" onChange={(e) => { const f = e.currentTarget.files?.[0]; if (f) void openFile(f); e.currentTarget.value = ""; }} /></label>
          </div>
        </details>
        <select aria-label="Theme" value={s.theme.value} onChange={(e) => setTheme(e.currentTarget.value as s.Theme)}>
          <option value="auto">Auto</option><option value="dark">Dark</option><option value="light">Light</option><option value="contrast">High contrast</option>
        </select>
        <button aria-label="Keys" onClick={() => { s.help.value = true; }}>?</button>
      </div>
    </header>
  );
}

async function copyLink(): Promise<void> {
  const url = shareUrl();
  note("Link to a view", url);
  try {
    await navigator.clipboard.writeText(url);
    s.say("The link is in the clipboard, and in the log.");
  } catch {
    s.say("The link stands in the log.");
    s.panel.value = "log";
  }
}
