/** The clock: scrubber with the queue of both lanes as a strip and marks of events; play, step, speed, live. */
import { useEffect, useRef } from "preact/hooks";
import { SPEEDS } from "../replay/clock";
import { LANES, type LaneName } from "../api/types";
import { goLive, jump, setSpeed, togglePlay } from "../state/actions";
import * as s from "../state/store";
import { clockText, minuteAt } from "../state/store";
import { css, OKABE } from "../theme/palettes";
import { currentGround } from "../theme/theme";
import { Icon } from "./Icon";
import { SIGN, spacedMarks } from "./Log";

const COLORS: Record<LaneName, string> = { baseline: css(OKABE.orange), oracle: css(OKABE.sky) };

export function Timeline() {
  const book = s.book.value;
  const city = s.city.value;
  void s.version.value;
  const total = book?.session.ticks ?? 48;
  const n = book?.length ?? 0;
  const p = s.position.value;
  const minute = book && city ? minuteAt(book, p, city.step_minutes) : null;
  const text = minute === null ? "--:--" : clockText(Math.floor(minute));
  return (
    <footer class="timeline" aria-label="Time">
      <div class="buttons" role="group" aria-label="Playback">
        <button onClick={() => jump(0)} disabled={n === 0} aria-label="To the start"><Icon name="start" /></button>
        <button onClick={() => jump(Math.ceil(p - 1e-6) - 1)} disabled={n === 0} aria-label="One tick back"><Icon name="back" /></button>
        <button class="primary" onClick={togglePlay} disabled={n === 0} aria-label={s.playing.value ? "Pause" : "Play"} data-testid="play"><Icon name={s.playing.value ? "pause" : "play"} /></button>
        <button onClick={() => jump(Math.floor(p + 1e-6) + 1)} disabled={n === 0} aria-label="One tick on"><Icon name="on" /></button>
        <button onClick={() => jump(Infinity)} disabled={n === 0} aria-label="To the newest tick"><Icon name="newest" /></button>
        <select aria-label="Speed" value={s.speed.value} onChange={(e) => setSpeed(Number(e.currentTarget.value))}>
          {SPEEDS.map((x) => <option key={x} value={x}>{x}×</option>)}
        </select>
        <button aria-pressed={s.live.value} onClick={goLive} disabled={!book || book.done}>Live</button>
      </div>
      <div class="clock"><b data-testid="clock">{text}</b> <small>tick <span data-testid="tick">{s.at.value}</span> of {total}{n < total ? `, ${n} played` : ""}</small></div>
      <div class="track">
        <Strip total={total} />
        <div class="marks">
          {spacedMarks.value.map((m) => (
            <button key={`${m.kind}${m.k}`} class={`mark ${m.kind}`} style={{ left: `${(m.k / total) * 100}%` }} tabIndex={-1}
              disabled={m.k > n} onClick={() => jump(m.k)} title={`Tick ${m.k}: ${m.text}`} aria-label={`Tick ${m.k}: ${m.text}`}>{SIGN[m.kind]}</button>
          ))}
        </div>
        <input type="range" min={0} max={total} step={0.01} value={p} aria-label="Time" aria-valuetext={`${text}, tick ${s.at.value} of ${total}`}
          disabled={n === 0} onInput={(e) => jump(Math.min(Number(e.currentTarget.value), n))} data-testid="scrubber" />
      </div>
    </footer>
  );
}

/** Cars queued in all stations, both lanes, as far as played. */
function Strip({ total }: { total: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  void s.version.value;
  const book = s.book.value;
  const n = book?.length ?? 0;
  const ground = currentGround();
  useEffect(() => {
    const element = canvas.current;
    const c = element?.getContext("2d");
    if (!element || !c) return;
    const w = (element.width = Math.max(element.clientWidth, 1) * devicePixelRatio);
    const h = (element.height = Math.max(element.clientHeight, 1) * devicePixelRatio);
    c.clearRect(0, 0, w, h);
    if (!book || n === 0) return;
    const queues = LANES.map((lane) => Array.from({ length: n + 1 }, (_, k) => {
      const q = book.state(lane, k).queued;
      let sum = 0;
      for (let i = 0; i < q.length; i++) sum += q[i] as number;
      return sum;
    }));
    const top = Math.max(1, ...queues.map((q) => Math.max(...q)));
    LANES.forEach((lane, i) => {
      c.beginPath();
      c.moveTo(0, h);
      queues[i]?.forEach((v, k) => c.lineTo((k / total) * w, h - (v / top) * h * 0.95));
      c.lineTo((n / total) * w, h);
      c.closePath();
      c.globalAlpha = 0.35;
      c.fillStyle = COLORS[lane];
      c.fill();
      c.globalAlpha = 1;
      c.strokeStyle = COLORS[lane];
      c.lineWidth = 1.2 * devicePixelRatio;
      c.stroke();
    });
  }, [book, n, total, ground]);
  return <canvas ref={canvas} class="strip" role="img" aria-label="Cars queued in all stations: baseline orange, oracle blue" />;
}
