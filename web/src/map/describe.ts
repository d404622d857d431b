/** What the pointer is on: words for the tooltip, and what a click selects. */
import type { PickingInfo } from "@deck.gl/core";
import type { CityFacts, Station, Waiting } from "../api/types";
import type { CarBuffers } from "../replay/cars";
import type { Selection } from "../state/store";
import { STATES } from "./scales";
import type { StationRow } from "./stationData";

const isRow = (o: unknown): o is StationRow => typeof o === "object" && o !== null && "slotsUp" in o;
const isDelta = (o: unknown): o is { station: Station; delta: number } =>
  typeof o === "object" && o !== null && "delta" in o;
const isStation = (o: unknown): o is Station => typeof o === "object" && o !== null && "feeder_id" in o;
const isWaiting = (o: unknown): o is Waiting => typeof o === "object" && o !== null && "waited_min" in o;

export function selectionOf(info: PickingInfo, cars: CarBuffers): Selection | null {
  const found: unknown = info.object;
  if (info.layer?.id === "cars" && info.index >= 0) {
    const car = cars.cars[info.index];
    return car ? { kind: "car", id: car.id } : null;
  }
  if (isRow(found) || isDelta(found)) return { kind: "station", id: found.station.id };
  if (isStation(found)) return { kind: "feeder", id: found.feeder_id };
  return null;
}

export function describe(info: PickingInfo, cars: CarBuffers, city: CityFacts): string[] | null {
  const found: unknown = info.object;
  if (info.layer?.id === "cars" && info.index >= 0) {
    const car = cars.cars[info.index];
    if (!car) return null;
    const name = city.stations.find((x) => x.id === car.station)?.name ?? car.station;
    return [
      `${car.id} · ${car.walkin ? "walk-in" : "request"}`, `to ${name}, arrives at minute ${car.eta}`,
      ...(car.reason ? [`Rerouted: ${car.reason}`] : []),
    ];
  }
  if (isRow(found)) {
    return [
      `${found.station.name} (${found.station.id})`, STATES[found.state].label,
      `${found.occupied} of ${found.slotsUp} usable slots in use, ${found.queued} queued, ${found.inbound} inbound`,
      `${found.station.rate.replace("_", "-")} · feeder ${found.station.feeder_id}`,
    ];
  }
  if (isDelta(found)) {
    return [found.station.name, found.delta === 0 ? "tie" : `oracle − baseline: ${found.delta > 0 ? "+" : ""}${found.delta} cars`];
  }
  if (isWaiting(found)) {
    return [`${found.id} waits for an answer`, `${found.persona}${found.critical ? ", critical" : ""}, ${found.waited_min} min`];
  }
  if (isStation(found)) return [`Feeder ${found.feeder_id}`, "scheme: the cables' ways are not surveyed"];
  return null;
}
