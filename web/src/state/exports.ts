/** The view as a picture, and both lanes as a table. */
import { LANES } from "../api/types";
import { stage } from "../panels/Maps";
import { download, fileName } from "./files";
import * as s from "./store";

const TITLE_PX = 34;

/** Both maps as one PNG, with what is shown written above. */
export async function exportPng(): Promise<void> {
  const book = s.book.value;
  if (!stage || !book) {
    s.say("There is no map to take a picture of.", "warn");
    return;
  }
  const lanes = s.mode.value === "diff" || s.judge.value ? (["oracle"] as const) : LANES;
  const hosts = lanes.map((lane) => stage?.hosts[lane]).filter((h) => h !== undefined);
  const ratio = devicePixelRatio;
  const boxes = hosts.map((h) => h.element.getBoundingClientRect());
  const canvas = document.createElement("canvas");
  canvas.width = boxes.reduce((a, b) => a + b.width, 0) * ratio;
  canvas.height = (Math.max(...boxes.map((b) => b.height)) + TITLE_PX) * ratio;
  const c = canvas.getContext("2d");
  if (!c) return;
  c.scale(ratio, ratio);
  c.fillStyle = "#0d1420";
  c.fillRect(0, 0, canvas.width, canvas.height);
  let x = 0;
  hosts.forEach((host, k) => {
    const box = boxes[k] as DOMRect;
    for (const part of host.picture()) c.drawImage(part, x, TITLE_PX, box.width, box.height);
    const lane = lanes[k] as (typeof LANES)[number];
    const badge = book.lane(lane, s.at.value)?.badge.label ?? "";
    c.fillStyle = "#fff";
    c.font = "600 15px system-ui, sans-serif";
    c.fillText(`${s.mode.value === "diff" ? "oracle − baseline" : lane} (${badge}) · ${book.session.scenario} · seed ${book.session.seed} · tick ${s.at.value}`, x + 10, 22, box.width - 20);
    x += box.width;
  });
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done));
  if (blob) download(fileName("png"), blob, "image/png");
}

/** Every tick of both lanes with the numbers of the trace, exact. */
export function exportCsv(): void {
  const book = s.book.value;
  if (!book || book.length === 0) {
    s.say("There is nothing to export yet.", "warn");
    return;
  }
  const first = book.ticks[0];
  const terms = Object.keys(first?.lanes.baseline.frame.breakdown ?? {});
  const kpis = Object.keys(first?.compare.so_far ?? {});
  const head = ["tick", "minute_of_day", "lane", "source", "reward", "grid_load_pct", "renewable_frac", "pending",
    ...terms.map((t) => `reward/${t}`), ...kpis, "digest"];
  const rows = book.ticks.flatMap((t) => LANES.map((lane) => {
    const f = t.lanes[lane].frame;
    return [t.tick, f.minute_of_day, lane, f.source, f.reward, f.grid_load_pct, f.renewable_frac, f.pending,
      ...terms.map((n) => f.breakdown[n]), ...kpis.map((n) => t.compare.so_far[n]?.[lane] ?? ""), f.digest];
  }));
  download(fileName("csv"), [head, ...rows].map((r) => r.join(",")).join("\n") + "\n", "text/csv");
}
