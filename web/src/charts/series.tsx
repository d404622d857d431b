/** A time series over ticks with uPlot; a click goes to its tick. */
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { css, OKABE } from "../theme/palettes";
import { clockText } from "../state/store";

export interface Line { label: string; values: (number | null)[]; dash?: boolean; color?: string }
interface Props {
  title: string; unit: string; lines: Line[]; firstMinute: number; stepMinutes: number; cursor: number;
  limit?: { value: number; label: string }; onSeek(k: number): void;
}

const COLORS = [css(OKABE.orange), css(OKABE.sky), css(OKABE.purple)];

export function Series(p: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const seek = useRef(p.onSeek);
  seek.current = p.onSeek;
  const key = p.lines.map((l) => l.label).join("|") + p.title;

  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const ink = getComputedStyle(element).color;
    const grid = { stroke: "rgb(128 128 128 / 0.2)", width: 1 };
    const font = "11px system-ui, sans-serif";
    const made = new uPlot({
      width: element.clientWidth || 320, height: 130, legend: { show: false }, scales: { x: { time: false } },
      cursor: { y: false, drag: { x: false, y: false } },
      axes: [
        { stroke: ink, grid, font, values: (_u, v) => v.map((m) => clockText(m)), space: 56 },
        { stroke: ink, grid, font, size: 46 },
      ],
      series: [{}, ...p.lines.map((l, i) => ({
        label: l.label, stroke: l.color ?? COLORS[i % 3] as string, width: 1.8, points: { show: false },
        ...(l.dash ? { dash: [5, 4] } : {}),
      }))],
      hooks: {
        ready: [(u) => u.over.addEventListener("click", () => {
          if (u.cursor.idx !== null && u.cursor.idx !== undefined) seek.current(u.cursor.idx);
        })],
        draw: [(u) => mark(u, cursorAt.current, limit.current)],
      },
    }, [[]], element);
    plot.current = made;
    const watch = new ResizeObserver(() => made.setSize({ width: element.clientWidth || 320, height: 130 }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [key]);

  const cursorAt = useRef(0);
  const limit = useRef<number | null>(null);
  cursorAt.current = p.firstMinute + p.cursor * p.stepMinutes;
  limit.current = p.limit?.value ?? null;
  const n = p.lines[0]?.values.length ?? 0;
  useEffect(() => {
    const x = Array.from({ length: n }, (_, k) => p.firstMinute + k * p.stepMinutes);
    plot.current?.setData([x, ...p.lines.map((l) => l.values)] as uPlot.AlignedData);
  }, [key, n, p.lines]);
  useEffect(() => plot.current?.redraw(false), [p.cursor]);

  return (
    <figure class="series">
      <figcaption>
        {p.title} <span class="unit">{p.unit}</span>
        {p.lines.map((l, i) => (
          <span class="swatch" key={l.label}>
            <i style={{ background: l.color ?? COLORS[i % 3], ...(l.dash ? { opacity: 0.6 } : {}) }} /> {l.label}
          </span>
        ))}
      </figcaption>
      <div ref={box} role="img" aria-label={`${p.title}, ${n} ticks`} />
    </figure>
  );
}

function mark(u: uPlot, x: number, y: number | null): void {
  const c = u.ctx;
  c.save();
  c.lineWidth = 1;
  c.strokeStyle = "rgb(128 128 128)";
  c.beginPath();
  const at = u.valToPos(x, "x", true);
  c.moveTo(at, u.bbox.top);
  c.lineTo(at, u.bbox.top + u.bbox.height);
  if (y !== null) {
    const h = u.valToPos(y, "y", true);
    c.setLineDash([4, 4]);
    c.moveTo(u.bbox.left, h);
    c.lineTo(u.bbox.left + u.bbox.width, h);
  }
  c.stroke();
  c.restore();
}
