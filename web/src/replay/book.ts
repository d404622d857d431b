/**
 * The trace as the page holds it: events in order, and of every lane the cars on the road at each tick boundary.
 *
 * Position k is the world after k ticks: 0 is the start, n the newest. A car's route is found when its event comes
 * in, so that any position can be drawn at once.
 */
import {
  LANES, type DemoEvent, type LaneEvent, type LaneName, type Render, type SessionState, type SpawnEvent, type State,
  type TickEvent,
} from "../api/types";
import { flatPath } from "./decode";

export interface Route {
  path: Float64Array; minutes: Float64Array; congestion: ArrayLike<number | null>;
  /** Position at which the car took it. */
  since: number;
}

const NO_RENDER: Render = { cars: [], arrived: [] };

/** Cars on the road at a tick boundary; the arrays are parallel. */
export interface Cars {
  ids: string[]; route: Int32Array; depart: Float64Array; eta: Float64Array; station: string[]; walkin: boolean[];
  reason: (string | null)[]; byId: Map<string, number>;
}

export class Book {
  readonly ticks: TickEvent[] = [];
  readonly spawns: SpawnEvent[] = [];
  readonly routes: Record<LaneName, Route[]> = { baseline: [], oracle: [] };
  private readonly cars: Record<LaneName, Cars[]> = { baseline: [], oracle: [] };
  private readonly latest: Record<LaneName, Map<string, number>> = { baseline: new Map(), oracle: new Map() };
  private readonly seen: DemoEvent[] = [];

  constructor(readonly session: SessionState) {
    for (const lane of LANES) this.takeCars(lane, session.start[lane].render);
  }

  /** Events in order, as they came. */
  get events(): readonly DemoEvent[] {
    return this.seen;
  }

  /** Ticks that can be shown. */
  get length(): number {
    return this.ticks.length;
  }

  get done(): boolean {
    return this.ticks.at(-1)?.done ?? false;
  }

  /** Take the next event; one that is not next is left out. */
  add(event: DemoEvent): boolean {
    if (event.seq !== this.seen.length) return false;
    this.seen.push(event);
    if (event.type === "spawn") {
      this.spawns.push(event);
      return true;
    }
    this.ticks.push(event);
    for (const lane of LANES) {
      this.takeCars(lane, event.lanes[lane].render);
      event.lanes[lane].render = NO_RENDER; // the columns hold it; `renderAt` gives it back
    }
    return true;
  }

  /** The render event of a position as it was sent. */
  renderAt(lane: LaneName, k: number): Render {
    const cars = this.carsAt(lane, k);
    const before = k > 0 ? this.carsAt(lane, k - 1).ids.filter((id) => !cars.byId.has(id)) : [];
    return {
      arrived: before.sort(),
      cars: cars.ids.map((id, i) => {
        const route = this.routes[lane][cars.route[i] as number];
        return {
          id, walkin: cars.walkin[i] as boolean, station_id: cars.station[i] as string,
          depart_min: cars.depart[i] as number, eta_min: cars.eta[i] as number,
          reroute_reason: cars.reason[i] as string | null,
          route: route?.since === k ? { path: route.path, minutes: route.minutes, congestion: route.congestion } : null,
        };
      }),
    };
  }

  /** State of a lane at position k, 0 to length. */
  state(lane: LaneName, k: number): State {
    return k <= 0 ? this.session.start[lane] : this.tick(k).lanes[lane].after;
  }

  /** The event that led to position k; the first one for 0, null before any. */
  eventAt(k: number): TickEvent | null {
    return k <= 0 ? null : this.tick(k);
  }

  lane(lane: LaneName, k: number): LaneEvent | null {
    return this.eventAt(k)?.lanes[lane] ?? null;
  }

  carsAt(lane: LaneName, k: number): Cars {
    const list = this.cars[lane];
    return list[Math.max(0, Math.min(k, list.length - 1))] as Cars;
  }

  private tick(k: number): TickEvent {
    return this.ticks[Math.min(k, this.ticks.length) - 1] as TickEvent;
  }

  private takeCars(lane: LaneName, render: Render): void {
    const latest = this.latest[lane];
    const n = render.cars.length;
    const cars: Cars = {
      ids: new Array<string>(n), route: new Int32Array(n), depart: new Float64Array(n), eta: new Float64Array(n),
      station: new Array<string>(n), walkin: new Array<boolean>(n), reason: new Array<string | null>(n),
      byId: new Map(),
    };
    render.cars.forEach((car, i) => {
      if (car.route) {
        latest.set(car.id, this.routes[lane].length);
        this.routes[lane].push({
          path: flatPath(car.route.path), minutes: Float64Array.from(car.route.minutes),
          congestion: car.route.congestion, since: this.cars[lane].length,
        });
      }
      cars.ids[i] = car.id;
      cars.route[i] = latest.get(car.id) ?? -1;
      cars.depart[i] = car.depart_min;
      cars.eta[i] = car.eta_min;
      cars.station[i] = car.station_id;
      cars.walkin[i] = car.walkin;
      cars.reason[i] = car.reroute_reason;
      cars.byId.set(car.id, i);
    });
    for (const id of render.arrived) latest.delete(id);
    this.cars[lane].push(cars);
  }
}
