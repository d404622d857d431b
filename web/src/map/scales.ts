/** The scales that layers draw with; a legend is made from the same object, so the two cannot differ. */
import { along, DIVERGING, OKABE, VIRIDIS, type Rgb } from "../theme/palettes";

export interface Scale {
  title: string; unit: string; low: number; high: number; ticks: readonly number[];
  color(value: number): Rgb; format(value: number): string;
}

const scale = (
  title: string, unit: string, low: number, high: number, ticks: readonly number[], stops: readonly Rgb[],
  format: (v: number) => string,
): Scale => ({
  title, unit, low, high, ticks, format, color: (v) => along(stops, (v - low) / (high - low)),
});
const percent = (v: number): string => `${Math.round(v * 100)} %`;

export const stationLoad = scale(
  "Station load", "cars in slots and queue / usable slots", 0, 1.5, [0, 0.5, 0.85, 1.5], VIRIDIS, percent,
);
export const feederLoad = scale(
  "Feeder load", "kVA / nominal rating", 0.4, 1.2, [0.4, 0.6, 0.8, 1, 1.2], VIRIDIS, percent,
);
export const busVoltage = scale(
  "Bus voltage", "pu", 0.9, 1, [0.91, 0.95, 1], [...VIRIDIS].reverse(), (v) => v.toFixed(2),
);
export const congestion = scale(
  "Congestion", "travel time / free flow", 1, 3, [1, 1.5, 2, 3],
  [OKABE.sky, [240, 228, 66], OKABE.orange, OKABE.vermillion], (v) => `${v.toFixed(1)}×`,
);
export const difference = scale(
  "Oracle − baseline", "cars in slots and queue", -8, 8, [-8, -4, 0, 4, 8], DIVERGING,
  (v) => (v > 0 ? `+${v}` : `${v}`),
);

export const KINDS = {
  request: { color: OKABE.sky, label: "car with a request" },
  walkin: { color: OKABE.grey, label: "walk-in" },
  rerouted: { color: OKABE.orange, label: "rerouted" },
} as const;

/** Rings of cars that wait for an answer. */
export const WAITING = {
  usual: { color: OKABE.purple, label: "waits for an answer" },
  critical: { color: OKABE.vermillion, label: "critical, waits" },
} as const;

export type StationState = "free" | "full" | "queue" | "reduced" | "down";
/** Shape, mark and words of a station's state: never colour alone. */
export const STATES: Record<StationState, { shape: string; label: string; mark: string }> = {
  free: { shape: "circle", label: "slots free", mark: "" },
  full: { shape: "square", label: "full, nobody waits", mark: "" },
  queue: { shape: "diamond", label: "full with a queue", mark: "" },
  reduced: { shape: "triangle", label: "some slots down", mark: "!" },
  down: { shape: "cross", label: "no usable slot", mark: "×" },
};

export function stationState(
  occupied: number, queued: number, slotsUp: number, slots: number, supplied: boolean,
): StationState {
  if (slotsUp <= 0 || !supplied) return "down";
  if (queued > 0) return "queue";
  if (slotsUp < slots) return "reduced";
  return occupied >= slotsUp ? "full" : "free";
}

/** Cars there over usable slots: what the station scale shows. */
export const loadOf = (occupied: number, queued: number, slotsUp: number): number =>
  (occupied + queued) / Math.max(slotsUp, 1);
