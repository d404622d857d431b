/** All state of the page, as signals; `actions` change it, views read it. */
import { computed, signal } from "@preact/signals";
import type { CityFacts, Fault, GameReply, GameTick, LaneName } from "../api/types";
import type { Book } from "../replay/book";
import { Clock } from "../replay/clock";
import type { Evaluation } from "./evaluation";

export type Mode = "ab" | "swipe" | "diff";
export type Theme = "auto" | "dark" | "light" | "contrast";
export type Panel = "overview" | "stations" | "grid" | "decision" | "log" | "judge";
export type LayerId = "heat" | "stations" | "cars" | "routes" | "waiting" | "feeders" | "labels";
export const LAYERS: readonly { id: LayerId; label: string }[] = [
  { id: "stations", label: "Stations" }, { id: "heat", label: "Station heat" }, { id: "cars", label: "Cars" },
  { id: "routes", label: "Routes" }, { id: "waiting", label: "Waiting cars" }, { id: "feeders", label: "Feeders" },
  { id: "labels", label: "Names" },
];
export interface LayerSetting { on: boolean; opacity: number }
export interface Selection { kind: "station" | "car" | "feeder"; id: string }
export interface Camera { lon: number; lat: number; zoom: number }
export interface Setup { seed: string; scenario: string; fleet: string; baseline: string; oracle: string; ticks: number }
export interface Toast { id: number; tone: "info" | "warn" | "error"; text: string }
export interface Hover { x: number; y: number; lines: string[] }
export interface Game { reply: GameReply; timeline: GameTick[]; views: GameReply["observations"][]; shown: number }

export const city = signal<CityFacts | null>(null);
export const fault = signal<Fault | null>(null);
export const book = signal<Book | null>(null);
/** Counts events taken, so that views know when the book has grown. */
export const version = signal(0);
export const busy = signal<string | null>(null);
export const running = signal(false);
export const link = signal<"none" | "connecting" | "open" | "lost" | "gone" | "file">("none");
export const setup = signal<Setup>({
  seed: "", scenario: "baseline", fleet: "mixed", baseline: "baseline", oracle: "oracle", ticks: 48,
});

const calm = matchMedia("(prefers-reduced-motion: reduce)");
export const clock = new Clock(
  () => book.value?.length ?? 0,
  () => {
    playing.value = false;
  },
  () => calm.matches,
);
/** The clock as panels read it: the position at 10 Hz, and the tick boundary at or before it. */
export const position = signal(0);
export const at = computed(() => Math.floor(position.value + 1e-9));
export const playing = signal(false);
export const speed = signal(1);
export const live = signal(false);

export const mode = signal<Mode>("ab");
export const panel = signal<Panel>("overview");
export const theme = signal<Theme>("auto");
export const layers = signal<Record<LayerId, LayerSetting>>({
  heat: { on: true, opacity: 0.5 }, stations: { on: true, opacity: 1 }, cars: { on: true, opacity: 1 },
  routes: { on: true, opacity: 0.7 }, waiting: { on: true, opacity: 1 }, feeders: { on: false, opacity: 0.8 },
  labels: { on: true, opacity: 1 },
});
export const layerOrder = signal<LayerId[]>(["feeders", "heat", "routes", "waiting", "cars", "stations"]);
export const selection = signal<Selection | null>(null);
export const follow = signal<string | null>(null);
export const lane = signal<LaneName>("oracle");
export const hover = signal<Hover | null>(null);
export const camera = signal<Camera | null>(null);
export const swipe = signal(0.5);
export const kiosk = signal(false);
export const help = signal(false);
export const layersOpen = signal(false);
export const tour = signal<number | null>(null);
export const game = signal<Game | null>(null);
export const judge = signal(false);
export const evaluation = signal<Evaluation | null>(null);
export const toasts = signal<Toast[]>([]);
export const log = signal<{ tick: number; text: string; href?: string }[]>([]);
/** True where WebGL cannot be had: lists stand in for the map. */
export const noMap = signal(false);

let nextToast = 1;
export function say(text: string, tone: Toast["tone"] = "info"): void {
  const toast = { id: nextToast++, tone, text };
  toasts.value = [...toasts.value.slice(-2), toast];
  setTimeout(() => {
    toasts.value = toasts.value.filter((t) => t.id !== toast.id);
  }, tone === "error" ? 12_000 : 5_000);
}

export const clockText = (minute: number): string => {
  const m = ((Math.round(minute) % 1440) + 1440) % 1440;
  return `${String(Math.floor(m / 60)).padStart(2, "0")}:${String(m % 60).padStart(2, "0")}`;
};

/** Minute of the day at a position. */
export function minuteAt(b: Book, p: number, stepMinutes: number): number {
  return b.session.start.baseline.minute_of_day + p * stepMinutes;
}
