/** Stations as layers and lists show them, from a state of the trace. */
import type { CityFacts, State, Station } from "../api/types";
import { loadOf, STATES, stationState, type StationState } from "./scales";

export interface StationRow {
  index: number; station: Station; occupied: number; queued: number; slotsUp: number; inbound: number;
  state: StationState; load: number; text: string;
}

export function stationRows(city: CityFacts, state: State): StationRow[] {
  return city.stations.map((station, index) => {
    const occupied = state.occupied[index] ?? 0;
    const queued = state.queued[index] ?? 0;
    const slotsUp = state.slots_up[index] ?? 0;
    const kind = stationState(occupied, queued, slotsUp, station.slots, state.supplied[index] ?? true);
    return {
      index, station, occupied, queued, slotsUp, inbound: state.inbound[index] ?? 0, state: kind,
      load: loadOf(occupied, queued, slotsUp), text: `${STATES[kind].mark}${occupied}/${slotsUp}`,
    };
  });
}

/** Cars more at each station in the oracle's lane. */
export const differenceRows = (city: CityFacts, a: State, b: State): { station: Station; delta: number }[] =>
  city.stations.map((station, k) => ({
    station,
    delta: (b.occupied[k] ?? 0) + (b.queued[k] ?? 0) - (a.occupied[k] ?? 0) - (a.queued[k] ?? 0),
  }));

/** Every station within the city's box; swapped coordinates are legal here, so nothing else would say. */
export function placesHold(city: CityFacts): boolean {
  const [south, north, west, east] = city.bbox;
  return city.stations.every((s) => s.at[0] >= west && s.at[0] <= east && s.at[1] >= south && s.at[1] <= north);
}
