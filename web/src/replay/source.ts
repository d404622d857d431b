/**
 * The frames as any other view takes them (the cinema is one): what is there, where the clock stands, where cars are.
 * A view that reads this owns no state and makes no request.
 */
import type { CityFacts, LaneName, State, TickEvent } from "../api/types";
import type { Book } from "./book";
import { movingBetween, placeInto, type Moving } from "./cars";
import type { Clock } from "./clock";

export interface CarAt { id: string; lon: number; lat: number; walkin: boolean; rerouted: boolean; station: string }

export interface FrameSource {
  readonly city: CityFacts;
  readonly lanes: readonly LaneName[];
  /** Ticks that can be shown. */
  length(): number;
  /** The clock, in ticks. */
  position(): number;
  /** Minute of the day on the clock. */
  minuteOfDay(): number;
  /** The world of a lane at the tick boundary at or before the clock. */
  state(lane: LaneName): State | null;
  /** The event that led there: frame, flags, badge. */
  event(): TickEvent | null;
  /** Cars on the road at the clock, between ticks too. */
  cars(lane: LaneName): CarAt[];
  /** Told every frame of play and after each jump; returns what ends it. */
  listen(listener: (position: number, jumped: boolean) => void): () => void;
}

export function frameSource(city: CityFacts, book: () => Book | null, clock: Clock): FrameSource {
  const at = (): number => Math.floor(clock.position + 1e-9);
  const kept = new Map<string, Moving[]>();
  let keptOf: Book | null = null;
  const moving = (b: Book, lane: LaneName): Moving[] => {
    const key = `${lane} ${at()} ${b.length}`;
    if (keptOf !== b || !kept.has(key)) {
      if (keptOf !== b || kept.size > 4) kept.clear();
      keptOf = b;
      kept.set(key, movingBetween(b, lane, at()));
    }
    return kept.get(key) as Moving[];
  };
  return {
    city,
    lanes: ["baseline", "oracle"],
    length: () => book()?.length ?? 0,
    position: () => clock.position,
    minuteOfDay: () => (book()?.session.start.baseline.minute_of_day ?? 0) + clock.position * city.step_minutes,
    state: (lane) => book()?.state(lane, at()) ?? null,
    event: () => book()?.eventAt(at()) ?? null,
    cars: (lane) => {
      const b = book();
      if (!b) return [];
      const minute = clock.position * city.step_minutes;
      const place = new Float64Array(2);
      return moving(b, lane).filter((c) => c.depart <= minute && minute < c.eta).map((c) => {
        placeInto(c.route, minute, place, 0);
        return {
          id: c.id, lon: place[0] as number, lat: place[1] as number, walkin: c.walkin, rerouted: c.reason !== null,
          station: c.station,
        };
      });
    },
    listen: (listener) => clock.listen(listener),
  };
}
