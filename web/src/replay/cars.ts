/** Where cars are at a minute: a place on their polyline, by the minutes that the simulator gave its points. */
import type { LaneName } from "../api/types";
import type { Book, Route } from "./book";

export interface Moving {
  id: string; route: Route; depart: number; eta: number; station: string; walkin: boolean; reason: string | null;
}

/** Cars that are on the road at some minute between positions k and k + 1. */
export function movingBetween(book: Book, lane: LaneName, k: number): Moving[] {
  const now = book.carsAt(lane, k);
  const out: Moving[] = [];
  const take = (cars: typeof now, i: number): void => {
    const route = book.routes[lane][cars.route[i] as number];
    if (!route) return;
    out.push({
      id: cars.ids[i] as string, route, depart: cars.depart[i] as number, eta: cars.eta[i] as number,
      station: cars.station[i] as string, walkin: cars.walkin[i] as boolean, reason: cars.reason[i] as string | null,
    });
  };
  for (let i = 0; i < now.ids.length; i++) take(now, i);
  if (k < book.length) {
    const later = book.carsAt(lane, k + 1);
    for (let i = 0; i < later.ids.length; i++) if (!now.byId.has(later.ids[i] as string)) take(later, i);
  }
  return out;
}

/** Index of the piece of `minutes` that holds `minute`. */
export function pieceAt(minutes: Float64Array, minute: number): number {
  let low = 0;
  let high = minutes.length - 2;
  while (low < high) {
    const mid = (low + high + 1) >> 1;
    if ((minutes[mid] as number) <= minute) low = mid;
    else high = mid - 1;
  }
  return Math.max(low, 0);
}

/** Write the place at `minute` to out[at], out[at + 1]. */
export function placeInto(route: Route, minute: number, out: Float32Array | Float64Array, at: number): void {
  const { path, minutes } = route;
  const n = minutes.length;
  if (n < 2 || minute <= (minutes[0] as number)) {
    out[at] = path[0] as number;
    out[at + 1] = path[1] as number;
    return;
  }
  const k = pieceAt(minutes, minute);
  const from = minutes[k] as number;
  const span = (minutes[k + 1] as number) - from;
  const share = span > 0 ? Math.min(Math.max((minute - from) / span, 0), 1) : 1;
  const x = path[2 * k] as number;
  const y = path[2 * k + 1] as number;
  out[at] = x + share * ((path[2 * k + 2] as number) - x);
  out[at + 1] = y + share * ((path[2 * k + 3] as number) - y);
}

export function placeOf(route: Route, minute: number): [number, number] {
  const out = new Float64Array(2);
  placeInto(route, minute, out, 0);
  return [out[0] as number, out[1] as number];
}

/** Buffers of one lane that are filled every frame and never made anew while the set of cars stays. */
export class CarBuffers {
  positions = new Float32Array(0);
  colors = new Uint8Array(0);
  count = 0;
  cars: Moving[] = [];

  /** Another set of cars: colours are written once. */
  use(cars: Moving[], color: (car: Moving) => readonly [number, number, number]): void {
    this.cars = cars;
    this.positions = new Float32Array(cars.length * 2);
    this.colors = new Uint8Array(cars.length * 4);
    cars.forEach((car, i) => this.colors.set(color(car), 4 * i));
  }

  /** Place every car at `minute`; those not on the road now are clear. Returns how many are on it. */
  fill(minute: number): number {
    let shown = 0;
    for (let i = 0; i < this.cars.length; i++) {
      const car = this.cars[i] as Moving;
      const on = car.depart <= minute && minute < car.eta;
      this.colors[4 * i + 3] = on ? 255 : 0;
      if (on) shown++;
      placeInto(car.route, minute, this.positions, 2 * i);
    }
    this.count = shown;
    return shown;
  }
}
