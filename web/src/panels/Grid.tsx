/** Feeders and buses as a one-line diagram: lines by loading, buses by voltage, with the numbers beside. */
import { busVoltage, feederLoad } from "../map/scales";
import { Series } from "../charts/series";
import { LANES, type CityFacts, type State } from "../api/types";
import { gameState } from "../map/gameState";
import { jump } from "../state/actions";
import * as s from "../state/store";
import { css } from "../theme/palettes";
import { Legend } from "./Legend";
import { percent, shown } from "./format";

const STEP = 30;
const ROW = 46;
const LEFT = 18;

export function Grid() {
  const city = s.city.value;
  const book = s.book.value;
  if (!city) return null;
  const state = s.judge.value && s.game.value ? gameState(s.game.value, city) : book?.state(s.lane.value, s.at.value);
  if (!state) return <p class="empty">Start a session to see the grid.</p>;
  const chosen = s.selection.value?.kind === "feeder" ? s.selection.value.id : null;
  return (
    <section aria-label="Grid">
      <h3>One-line diagram <small>{s.judge.value ? "two agents" : s.lane.value} · {city.discom} · grid load {percent(state.grid_load_pct)}, renewable {percent(state.renewable_frac)}</small></h3>
      <div class="row"><Legend scale={feederLoad} /><Legend scale={busVoltage} /></div>
      <OneLine city={city} state={state} chosen={chosen} />
      {chosen && book && <FeederDetail id={chosen} />}
    </section>
  );
}

function OneLine({ city, state, chosen }: { city: CityFacts; state: State; chosen: string | null }) {
  const longest = Math.max(...city.feeders.map((_, f) => city.buses.feeder.filter((x) => x === f).length));
  const width = LEFT + longest * STEP + 20;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="One-line diagram of the feeders">
      <svg class="oneline" width={width} height={city.feeders.length * ROW + 10} role="group" aria-label="Feeders">
        {city.feeders.map((feeder, f) => {
          const load = state.feeder_load_pct[f] ?? null;
          const low = state.feeder_min_voltage_pu[f] ?? null;
          const y = 32 + f * ROW;
          const buses = city.buses.feeder.map((x, b) => (x === f ? b : -1)).filter((b) => b >= 0);
          const text = `${feeder.id} ${feeder.name}: load ${percent(load)} of ${shown(feeder.rating_kva)} kVA, lowest voltage ${shown(low, "pu")} pu`;
          const choose = (): void => {
            s.selection.value = chosen === feeder.id ? null : { kind: "feeder", id: feeder.id };
          };
          return (
            <g key={feeder.id} tabIndex={0} role="button" aria-pressed={chosen === feeder.id} class={chosen === feeder.id ? "chosen" : ""}
              data-feeder={feeder.id} onClick={choose} onKeyDown={(e) => { if (e.key === "Enter") choose(); }}>
              <title>{text}</title>
              <text x={4} y={y - 14}>{feeder.id} {feeder.name} · <tspan data-load={feeder.id}>{percent(load)} · {shown(low, "pu")} pu{load !== null && load > 1 ? " ⚠" : ""}</tspan></text>
              <line x1={6} x2={LEFT + (buses.length - 1) * STEP} y1={y} y2={y} stroke={css(feederLoad.color(load ?? 0))} stroke-width={6} stroke-dasharray={low === null ? "4 4" : undefined} />
              <rect x={4} y={y - 9} width={6} height={18} class="source" />
              {buses.map((b, k) => {
                const v = state.bus_voltage_pu[b] ?? null;
                const here = city.stations.filter((x) => x.bus === b);
                return (
                  <g key={b}>
                    <circle cx={LEFT + k * STEP} cy={y} r={7} fill={v === null ? "none" : css(busVoltage.color(v))} class="bus">
                      <title>{`${city.buses.id[b]}: ${v === null ? "no supply" : `${v.toFixed(4)} pu`}${here.length ? `, ${here.map((x) => x.name).join(", ")}` : ""}`}</title>
                    </circle>
                    {here.length > 0 && <path d={`M${LEFT + k * STEP} ${y + 7}v7l-4 -3m4 3l4 -3`} class="plug" />}
                  </g>
                );
              })}
            </g>
          );
        })}
      </svg>
    </div>
  );
}

function FeederDetail({ id }: { id: string }) {
  void s.version.value;
  const city = s.city.value;
  const book = s.book.value;
  const f = city?.feeders.findIndex((x) => x.id === id) ?? -1;
  const feeder = city?.feeders[f];
  if (!city || !book || !feeder) return <p class="empty">There is no feeder {id}.</p>;
  const places = Array.from({ length: book.length + 1 }, (_, t) => t);
  const lines = (read: (x: State) => number | null | undefined) =>
    LANES.map((lane) => ({ label: lane, values: places.map((t) => read(book.state(lane, t)) ?? null) }));
  const common = { firstMinute: book.session.start.baseline.minute_of_day, stepMinutes: city.step_minutes, cursor: s.at.value, onSeek: jump };
  return (
    <article class="detail" data-testid="feeder-detail">
      <h3>{id} {feeder.name} <small>{feeder.substation}, {shown(feeder.rating_kva)} kVA</small></h3>
      <Series title="Load" unit="of the nominal rating" lines={lines((x) => x.feeder_load_pct[f])} limit={{ value: 1, label: "rating" }} {...common} />
      <Series title="Equivalent load of the head" unit="of the present rating" lines={lines((x) => x.feeder_heat_frac[f])} limit={{ value: 1, label: "limit" }} {...common} />
      <Series title="Lowest voltage" unit="pu" lines={lines((x) => x.feeder_min_voltage_pu[f])} limit={{ value: city.buses.v_min_pu, label: "limit" }} {...common} />
      <p>Stations: {city.stations.filter((x) => x.feeder === f).map((x) => (
        <button class="plain" key={x.id} onClick={() => { s.selection.value = { kind: "station", id: x.id }; s.panel.value = "stations"; }}>{x.name}</button>
      ))}</p>
    </article>
  );
}
