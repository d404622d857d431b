/** What colours, shapes and dots on the maps mean. It stands below the maps, so that it covers nothing of them. */
import { congestion, difference, feederLoad, KINDS, stationLoad, STATES, WAITING } from "../map/scales";
import * as s from "../state/store";
import { css } from "../theme/palettes";
import { Legend } from "./Legend";

export function Legends() {
  const diff = s.mode.value === "diff" && !s.judge.value;
  return (
    <aside class="legend" aria-label="Legend">
      <details open={innerWidth > 800}>
        <summary>Legend</summary>
        <div class="parts">
          {diff ? <><Legend scale={difference} /><p class="about">blue: the oracle has fewer cars there, orange: more, white: a tie</p></> : (
            <>
              <Legend scale={stationLoad} />
              <ul class="shapes" aria-label="Stations">
                {Object.entries(STATES).map(([k, x]) => <li key={k}><span class={`shape ${x.shape}`} aria-hidden="true" /> {x.label}</li>)}
                <li class="about">7/12 in use of usable slots · dots: queue</li>
              </ul>
              <Legend scale={congestion} />
              <ul class="shapes" aria-label="Cars">
                {Object.entries(KINDS).map(([k, x]) => <li key={k}><i style={{ background: css(x.color) }} /> {x.label}</li>)}
                {Object.entries(WAITING).map(([k, x]) => <li key={k}><i class="ring" style={{ borderColor: css(x.color) }} /> {x.label}</li>)}
              </ul>
              {s.layers.value.feeders.on && <Legend scale={feederLoad} />}
            </>
          )}
        </div>
      </details>
    </aside>
  );
}
