/** A legend made from the scale that draws. */
import type { Scale } from "../map/scales";
import { css } from "../theme/palettes";

const STOPS = 12;

export function Legend({ scale }: { scale: Scale }) {
  const at = (k: number): number => scale.low + (k / STOPS) * (scale.high - scale.low);
  const stops = Array.from({ length: STOPS + 1 }, (_, k) => css(scale.color(at(k)))).join(", ");
  return (
    <figure class="ramp" aria-label={`${scale.title}, ${scale.unit}`}>
      <figcaption>{scale.title} <span class="unit">{scale.unit}</span></figcaption>
      <div style={{ background: `linear-gradient(90deg, ${stops})` }} />
      <p>{scale.ticks.map((t) => (
        <span key={t} style={{ left: `${((t - scale.low) / (scale.high - scale.low)) * 100}%` }}>{scale.format(t)}</span>
      ))}</p>
    </figure>
  );
}
