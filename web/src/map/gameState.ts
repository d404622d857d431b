/** What the two agents see, as a state that the map can draw: stations from one view, feeders from the other. */
import type { CityFacts, Column, MaybeColumn, State } from "../api/types";
import type { Game } from "../state/store";

const obj = (v: unknown): Record<string, unknown> => (typeof v === "object" && v !== null ? (v as Record<string, unknown>) : {});
const list = (v: unknown): Column => (Array.isArray(v) ? (v as number[]) : []);

export function gameState(game: Game, city: CityFacts): State | null {
  const seen = game.views[Math.min(game.shown, game.views.length - 1)];
  if (!seen) return null;
  const dispatcher = seen.fleet_dispatcher.view;
  const stations = obj(dispatcher.stations);
  const operator = seen.grid_operator.view;
  const feeders = obj(operator.feeders);
  const none = (): MaybeColumn => city.stations.map(() => null);
  return {
    minute_of_day: Number(dispatcher.minute_of_day), occupied: list(stations.occupied), queued: list(stations.queued),
    inbound: list(stations.inbound), slots_up: list(stations.slots_up), supplied: (stations.supplied ?? []) as boolean[],
    price_inr_kwh: list(stations.price_inr_kwh), limit_kw: none(), feeder_load_pct: list(feeders.load_pct),
    feeder_limit_pct: list(feeders.limit_pct), feeder_heat_frac: list(feeders.heat_frac),
    feeder_min_voltage_pu: list(feeders.min_voltage_pu), bus_voltage_pu: list(obj(operator.buses).voltage_pu),
    grid_load_pct: Number(obj(operator.totals).grid_load_pct), renewable_frac: Number(obj(operator.totals).renewable_frac),
    waiting: [],
  };
}
