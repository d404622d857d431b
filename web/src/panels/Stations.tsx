/** Stations: search, a table that follows the map and leads it, and the series of the one that is pinned. */
import { signal } from "@preact/signals";
import { STATES } from "../map/scales";
import { stationRows } from "../map/stationData";
import { Series } from "../charts/series";
import { jump, spawn } from "../state/actions";
import { download, fileName } from "../state/files";
import { LANES } from "../api/types";
import * as s from "../state/store";
import { shown } from "./format";

const search = signal("");
/** Rows of the table; a city of thousands is searched. */
const MOST_ROWS = 200;
type Order = "id" | "load" | "queued";
const order = signal<Order>("id");

export function Stations() {
  const city = s.city.value;
  const book = s.book.value;
  void s.version.value;
  if (!city) return null;
  if (!book) return <p class="empty">Start a session to see its stations.</p>;
  const lane = s.lane.value;
  const wanted = search.value.trim().toLowerCase();
  const rows = stationRows(city, book.state(lane, s.at.value))
    .filter((r) => `${r.station.id} ${r.station.name} ${r.station.feeder_id}`.toLowerCase().includes(wanted))
    .sort((a, b) => (order.value === "load" ? b.load - a.load : order.value === "queued" ? b.queued - a.queued : a.index - b.index));
  const chosen = s.selection.value?.kind === "station" ? s.selection.value.id : null;
  return (
    <section aria-label="Stations">
      {chosen && <StationDetail id={chosen} />}
      {s.selection.value?.kind === "car" && <CarDetail id={s.selection.value.id} />}
      <div class="row">
        <label>Search <input type="search" value={search.value} onInput={(e) => { search.value = e.currentTarget.value; }} placeholder="name, id or feeder" /></label>
        <label>Order <select value={order.value} onChange={(e) => { order.value = e.currentTarget.value as Order; }}>
          <option value="id">id</option><option value="load">load</option><option value="queued">queue</option>
        </select></label>
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label="Table of stations">
        <table>
          <thead><tr><th>Station</th><th>State ({lane})</th><th class="n">In use</th><th class="n">Queue</th><th class="n">Inbound</th></tr></thead>
          <tbody>
            {rows.slice(0, MOST_ROWS).map((r) => (
              <tr key={r.station.id} class={r.station.id === chosen ? "chosen" : ""} data-station={r.station.id}>
                <td><button class="plain" aria-pressed={r.station.id === chosen}
                  onClick={() => { s.selection.value = r.station.id === chosen ? null : { kind: "station", id: r.station.id }; }}>
                  {r.station.name} <small>{r.station.id}</small></button></td>
                <td><span class={`shape ${STATES[r.state].shape}`} aria-hidden="true" /> {STATES[r.state].label}</td>
                <td class="n">{r.occupied}/{r.slotsUp}</td><td class="n">{r.queued}</td><td class="n">{r.inbound}</td>
              </tr>
            ))}
            {rows.length > MOST_ROWS && <tr><td colSpan={5}>{rows.length - MOST_ROWS} more: search for one.</td></tr>}
            {rows.length === 0 && <tr><td colSpan={5}>No station fits “{search.value}”.</td></tr>}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function StationDetail({ id }: { id: string }) {
  void s.version.value;
  const city = s.city.value;
  const book = s.book.value;
  const k = city?.stations.findIndex((x) => x.id === id) ?? -1;
  const station = city?.stations[k];
  if (!city || !book || !station) return <p class="empty">There is no station {id} in this city.</p>;
  const places = Array.from({ length: book.length + 1 }, (_, t) => t);
  const series = (read: (lane: (typeof LANES)[number], t: number) => number | null) =>
    LANES.map((lane) => ({ label: lane, values: places.map((t) => read(lane, t)) }));
  const first = book.session.start.baseline.minute_of_day;
  const common = { firstMinute: first, stepMinutes: city.step_minutes, cursor: s.at.value, onSeek: jump };
  const queue = series((lane, t) => book.state(lane, t).queued[k] ?? null);
  const used = series((lane, t) => book.state(lane, t).occupied[k] ?? null);
  const power = series((lane, t) => book.lane(lane, t)?.frame.station_kw[k] ?? null);
  const csv = (): void => {
    const head = "tick,minute_of_day,lane,occupied,queued,mean_kw\n";
    const body = LANES.flatMap((lane, i) => places.map((t) => [t, first + t * city.step_minutes, lane,
      used[i]?.values[t], queue[i]?.values[t], power[i]?.values[t] ?? ""].join(",")));
    download(fileName(`${id}.csv`), head + body.join("\n") + "\n", "text/csv");
  };
  return (
    <article class="detail" data-testid="station-detail">
      <h3>{station.name} <small>{id} · {station.rate.replace("_", "-")} · {station.slots} slots · feeder {station.feeder_id} · ₹ {shown(station.price_inr_kwh)}/kWh</small></h3>
      <Series title="Queue" unit="cars" lines={queue} {...common} />
      <Series title="Slots in use" unit="slots" lines={used} limit={{ value: station.slots, label: "slots" }} {...common} />
      <Series title="Power" unit="kW, mean of the tick" lines={power} limit={{ value: station.site_limit_kw, label: "site limit" }} {...common} />
      <div class="row">
        <button onClick={csv}>CSV of these series</button>
        <button onClick={() => void spawn({ lat: station.at[1], lon: station.at[0], persona: "emergency" })}>Add an emergency car here</button>
        <button onClick={() => { s.selection.value = null; }}>Unpin</button>
      </div>
    </article>
  );
}

function CarDetail({ id }: { id: string }) {
  const book = s.book.value;
  const cars = book?.carsAt(s.lane.value, s.at.value);
  const i = cars?.byId.get(id);
  if (!cars || i === undefined) return <p class="empty">{id} is not on the road in this lane now.</p>;
  return (
    <article class="detail" data-testid="car-detail">
      <h3>{id} <small>{cars.walkin[i] ? "walk-in" : "request"} to {cars.station[i]}</small></h3>
      <p>Set out at minute {cars.depart[i]}, arrives at {cars.eta[i]}. {cars.reason[i] ? `Rerouted: ${cars.reason[i]}` : "On its first way."}</p>
      <button aria-pressed={s.follow.value === id} onClick={() => { s.follow.value = s.follow.value === id ? null : id; }}>
        {s.follow.value === id ? "Stop following" : "Follow"}</button>
    </article>
  );
}
