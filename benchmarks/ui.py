"""How heavy and how fast the command center is: size, first paint, JavaScript per frame, scrubbing, memory.

    python benchmarks/ui.py --out artifacts/bench_ui.json

Starts a server and a headless Chromium. JavaScript is timed in the page, around the page's own work (with deck.gl's
update of its layers); what the graphics driver does afterwards is not counted, since it is software here.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "web"))

from playwright.sync_api import Page, sync_playwright
from web_visit import NO_GRAPHICS, serving

from ev_grid_oracle.city.load import load_city
from ev_grid_oracle.evaluation.provenance import files_hash, provenance
from ev_grid_oracle.evaluation.writing import to_json, write_atomic
from ev_grid_oracle.server.settings import Settings, read_settings

SCHEMA = "evgrid.bench_ui/1"
ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-unsafe-swiftshader",
]
WEEK = 2016
FRAMES = """async () => {
  const { store, stage } = window.evgrid; const st = stage(); const lanes = ['baseline', 'oracle'];
  const kept = store.layers.value; store.layers.value = { ...kept, routes: { ...kept.routes, on: false } };
  for (const lane of lanes) {
    const seen = st.buffers[lane].cars; if (!seen.length) throw new Error('no cars');
    const many = Array.from({ length: 1000 }, (_, k) => ({ ...seen[k % seen.length], depart: 0, eta: 1e9 }));
    st.buffers[lane].use(many, () => [86, 180, 233]);
  }
  const decks = lanes.map((lane) => st.hosts[lane].overlay._deck.layerManager); // updates left for the next frame count
  const times = []; const at = Math.floor(store.clock.position);
  for (let k = 0; k < 200; k++) {
    store.clock.position = at + (k % 100) / 101;
    const began = performance.now(); st.frame();
    for (const deck of decks) deck.updateLayers(); times.push(performance.now() - began);
    if (k % 20 === 0) await new Promise((done) => setTimeout(done, 0));
  }
  times.sort((a, b) => a - b);
  return { cars: 2000, median_ms: times[100], p95_ms: times[190] };
}"""
SCRUB = """async (n) => {
  const { store } = window.evgrid; const times = [];
  for (let k = 0; k < 60; k++) {
    const to = (k * 7919) % n; const began = performance.now();
    store.clock.seek(to); await new Promise((done) => setTimeout(done, 0));
    times.push(performance.now() - began);
  }
  times.sort((a, b) => a - b);
  return { ticks: n, median_ms: times[30], worst_ms: times[59] };
}"""


def sizes(ui: Path) -> dict[str, float]:
    """kB of what a first visit loads, packed as the server sends it; apart: the map's worker, and the cinema, which
    is loaded when it is opened. Licence texts are loaded by nobody."""
    packed = {
        p.name: (p.stat().st_size if p.suffix == ".woff2" else len(gzip.compress(p.read_bytes(), 9))) / 1000
        for p in ui.rglob("*")
        if p.is_file()
    }
    packed.pop("licenses.txt", None)
    worker = sum(v for k, v in packed.items() if "worker" in k)
    cinema = sum(v for k, v in packed.items() if k.startswith("cinema-"))
    whole = sum(p.stat().st_size for p in ui.rglob("*") if p.is_file()) / 1e6
    return {
        "initial_kb_gz": round(sum(packed.values()) - worker - cinema, 1),
        "worker_kb_gz": round(worker, 1),
        "cinema_kb_gz": round(cinema, 1),
        "build_mb": round(whole, 2),
    }


def build_hash(ui: Path) -> str:
    """sha256 over name and bytes of every file of the build: what was measured is this page, whatever the code says."""
    return files_hash(ui, sorted(p for p in ui.rglob("*") if p.is_file()))


def opened(page: Page, url: str) -> None:
    """Go there and wait until the page stands."""
    page.goto(url)
    while not page.evaluate("!document.querySelector('.boot') && !window.evgrid?.store.busy.value"):
        page.wait_for_timeout(50)


def heap_mb(page: Page) -> float:
    """JavaScript heap after a collection."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    return round(float(page.evaluate("performance.memory.usedJSHeapSize")) / 1e6, 1)


def measure(base: str, week: int, minutes: float) -> dict[str, Any]:
    """Everything that needs a browser."""
    out: dict[str, Any] = {}
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=shutil.which("chromium"), args=ARGS)
        page = browser.new_context(viewport={"width": 1000, "height": 640}, locale="en-GB").new_page()
        page.set_default_timeout(600_000)
        opened(page, f"{base}/ui/")
        paints = "performance.getEntriesByType('paint').map((e) => [e.name, e.startTime])"
        out["paint_ms"] = {name: round(at) for name, at in page.evaluate(paints)}
        opened(page, f"{base}/ui/?seed=7&lora=greedy_counting&played=30&t=24")
        while page.evaluate("window.evgrid.stage() === null"):
            page.wait_for_timeout(100)
        out["frame"] = page.evaluate(FRAMES)
        page.close()
        page = browser.new_context(viewport={"width": 1000, "height": 640}, locale="en-GB").new_page()
        page.set_default_timeout(900_000)
        page.add_init_script(NO_GRAPHICS)  # what is timed is the page's work, not drawing in software
        opened(page, f"{base}/ui/?seed=7&lora=greedy_counting&ticks={week}&played={week}&t=0")
        played = page.evaluate("window.evgrid.store.book.value.length")
        out["scrub"] = page.evaluate(SCRUB, played)
        out["scrub"]["heap_mb"] = heap_mb(page)
        if minutes > 0:
            page.evaluate(
                "window.evgrid.store.clock.seek(0); window.evgrid.store.clock.speed = 16; window.evgrid.store.clock.play()"
            )
            page.wait_for_timeout(10_000)
            first = heap_mb(page)
            page.wait_for_timeout(minutes * 60_000)
            out["memory"] = {"minutes": minutes, "first_mb": first, "last_mb": heap_mb(page)}
        browser.close()
    return out


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, help="JSON of the figures")
    parser.add_argument("--week", type=int, default=WEEK, help="ticks of the trace that is scrubbed")
    parser.add_argument("--minutes", type=float, default=1.0, help="minutes of play whose memory is measured")
    given = parser.parse_args()
    ui = read_settings({}).ui
    if ui is None:
        raise SystemExit("The command center is not built: npm --prefix web ci && npm --prefix web run build")
    settings = Settings(ui=ui)
    figures: dict[str, Any] = {"schema": SCHEMA, "build_sha256": build_hash(ui), "size": sizes(ui)}
    with serving(settings) as base:
        figures |= measure(base, given.week, given.minutes)
    figures["provenance"] = provenance(load_city(settings.city))
    print(json.dumps(figures, indent=2))
    if given.out:
        write_atomic(given.out, to_json(figures))


if __name__ == "__main__":
    main()
