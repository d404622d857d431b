/** What a person can do. Every action leaves the page in a state that says what happened. */
import { signal } from "@preact/signals";
import * as api from "../api/client";
import { openLive } from "../api/live";
import type { DemoEvent, GameReply } from "../api/types";
import { placesHold } from "../map/stationData";
import { Book } from "../replay/book";
import * as s from "./store";
import { shareUrl } from "./url";

let stopLive: (() => void) | null = null;
/** Most ticks asked for in one request of `run`; slow policies are asked tick by tick. */
const BATCH = 6;
const SLOW_MS = 1500;
/** Ticks in one request where nobody watches them being played. */
const AT_ONCE = 12;

export function note(text: string, href?: string): void {
  const tick = s.book.value?.length ?? 0;
  s.log.value = [...s.log.value.slice(-199), href ? { tick, text, href } : { tick, text }];
}

function failed(error: unknown, what: string): void {
  const text = error instanceof api.ApiError
    ? `${what}: ${error.fault.message} ${error.fault.hint} (${error.fault.code})`
    : `${what}: ${error instanceof Error ? error.message : String(error)}`;
  s.say(text, "error");
  note(text);
  if (error instanceof api.ApiError && (error.status === 404 || error.fault.code === "E_NO_EPISODE")) s.link.value = "gone";
}

export async function loadCity(): Promise<boolean> {
  s.fault.value = null;
  s.busy.value = "Loading the city";
  try {
    const city = await api.getCity();
    if (!placesHold(city)) {
      s.fault.value = {
        code: "E_PLACES", message: "A station lies outside its city's box: latitude and longitude may be swapped.",
        hint: "Check the city with evgrid city validate.",
      };
      return false;
    }
    s.city.value = city;
    return true;
  } catch (error) {
    s.fault.value = error instanceof api.ApiError
      ? error.fault
      : { code: "E_PAGE", message: String(error), hint: "Reload the page." };
    return false;
  } finally {
    s.busy.value = null;
  }
}

function take(event: DemoEvent): void {
  const book = s.book.value;
  if (!book?.add(event)) return;
  s.version.value = book.events.length;
  if (event.type === "spawn") note(`Spawned ${event.ev_id.oracle ?? event.ev_id.baseline ?? "a car"}`);
  else for (const e of event.events) note(`${e.label}`);
  if (s.clock.live && !s.clock.playing) startClock();
}

/** A session as the page shows it: the book, the stream, the clock at the start. */
export function show(book: Book, from: "server" | "file"): void {
  stopLive?.();
  stopLive = null;
  s.clock.pause();
  s.clock.live = s.live.value = false;
  s.book.value = book;
  s.version.value = book.events.length;
  s.clock.seek(0);
  s.judge.value = false;
  if (s.panel.value === "judge") s.panel.value = "overview";
  const { options, policies } = book.session.recipe;
  s.setup.value = {
    seed: String(book.session.seed), scenario: book.session.scenario, fleet: String(options.fleet_mode ?? "mixed"),
    baseline: policies.baseline, oracle: policies.oracle, ticks: book.session.ticks,
  };
  if (from === "file") {
    s.link.value = "file";
    return;
  }
  stopLive = openLive(book.session.session_id, {
    next: () => book.events.length,
    event: take,
    state: (state) => {
      if (s.book.value === book) s.link.value = state;
    },
  });
}

/** Start a session; it does not step by itself. False where the server would not. */
export async function newSession(): Promise<boolean> {
  const { seed, scenario, fleet, baseline, oracle, ticks } = s.setup.value;
  const number = seed.trim() === "" ? null : Number(seed);
  if (number !== null && !(Number.isInteger(number) && number >= 0 && number <= 4294967295)) {
    s.say("The seed is a whole number from 0 to 4294967295, or empty for the scenario's story.", "warn");
    return false;
  }
  s.running.value = false;
  s.busy.value = "Starting both lanes";
  try {
    const state = await api.newSession({
      ...(number === null ? {} : { seed: number }), scenario, fleet_mode: fleet, ticks, baseline, oracle,
    });
    show(new Book(state), "server");
    note(`New: ${state.scenario}, seed ${state.seed}`, shareUrl());
    return true;
  } catch (error) {
    failed(error, "The session could not be started");
    return false;
  } finally {
    s.busy.value = null;
  }
}

const usable = (): Book | null => {
  const book = s.book.value;
  if (!book) s.say("Start a session first (New).", "warn");
  else if (s.link.value === "file") s.say("This run comes from a file; start a session to step.", "warn");
  else if (s.link.value === "gone") s.say("The server no longer has this session; start it again (New).", "warn");
  else return book;
  return null;
};

/** Play `ticks` on the server; the reply serves where the stream is broken. */
async function advance(book: Book, ticks: number): Promise<boolean> {
  try {
    const reply = await api.step(book.session.session_id, ticks);
    if (s.book.value === book) reply.events.forEach(take);
    return true;
  } catch (error) {
    failed(error, "The step failed");
    return false;
  }
}

/** Play up to a tick that an address or a file names; the clock stays. */
export async function playTo(ticks: number): Promise<void> {
  const book = s.book.value;
  if (!book) return;
  if (ticks > 0) s.busy.value = `Playing ${ticks} ticks`;
  try {
    while (book.length < ticks && !book.done && s.book.value === book) {
      const reply = await api.step(book.session.session_id, Math.min(AT_ONCE, ticks - book.length));
      for (const event of reply.events) book.add(event);
      s.version.value = book.events.length;
    }
  } catch (error) {
    failed(error, "The view could not be played to its tick");
  }
  s.busy.value = null;
}

/** One tick, shown at once. */
export async function stepOnce(): Promise<void> {
  const book = usable();
  if (!book || s.busy.value || s.running.value) return;
  if (book.done) {
    s.say("The episode is over.");
    return;
  }
  s.busy.value = "Playing a tick";
  if (await advance(book, 1)) s.clock.seek(book.length);
  s.busy.value = null;
}

/** Play to the end, the clock following; again to stop. */
export async function run(): Promise<void> {
  if (s.running.value) {
    s.running.value = false;
    return;
  }
  const book = usable();
  if (!book) return;
  if (book.done) {
    startClock();
    return;
  }
  s.running.value = true;
  let batch = 1;
  startClock();
  while (s.running.value && s.book.value === book && !book.done) {
    const began = performance.now();
    if (!(await advance(book, batch))) break;
    batch = performance.now() - began > SLOW_MS ? 1 : Math.min(batch + 1, BATCH);
    if (!s.clock.playing && s.clock.position < book.length) startClock();
  }
  s.running.value = false;
}

/** Play the clock; from the end it begins again. */
export function startClock(): void {
  const book = s.book.value;
  if (!book) return;
  if (s.clock.position >= book.length && book.done) s.clock.seek(0);
  s.playing.value = true;
  s.clock.play();
}
export function togglePlay(): void {
  if (s.playing.value) s.clock.pause();
  else startClock();
}
export function setSpeed(value: number): void {
  s.clock.speed = s.speed.value = value;
  remember("speed", String(value));
}
export function goLive(): void {
  const on = !s.live.value;
  s.clock.live = s.live.value = on;
  if (on) {
    s.clock.seek(s.book.value?.length ?? 0);
    startClock();
  }
}
export function jump(position: number): void {
  s.clock.live = s.live.value = false;
  s.clock.seek(position);
}

export async function spawn(car: Record<string, unknown>): Promise<void> {
  const book = usable();
  if (!book) return;
  try {
    await api.spawn(book.session.session_id, car);
    s.say("One more car asks, in both lanes.");
  } catch (error) {
    failed(error, "The car could not be added");
  }
}

// -- judge mode ------------------------------------------------------------------------------------------
export async function startJudge(): Promise<void> {
  s.busy.value = "Starting the two-agent game";
  try {
    const { seed, scenario, fleet } = s.setup.value;
    const story = s.city.value?.scenarios.find((x) => x.name === scenario)?.story_seed ?? 0;
    const reply = await api.newGame({ seed: seed === "" ? story : Number(seed), scenario, fleet_mode: fleet });
    s.clock.pause();
    s.game.value = { reply, timeline: [], views: [reply.observations], shown: 0 };
    s.judge.value = true;
    s.panel.value = "judge";
  } catch (error) {
    failed(error, "Judge Mode could not be started");
  } finally {
    s.busy.value = null;
  }
}
const judging = signal(false);
export const judgeBusy = (): boolean => judging.value;
/** Play ticks of the game: the built-in players, or two messages of a person. */
export async function judgeStep(ticks: number, said?: [string, string]): Promise<void> {
  if (judging.value) return;
  judging.value = true;
  await playGame(ticks, said);
  judging.value = false;
}
async function playGame(ticks: number, said?: [string, string]): Promise<void> {
  for (let k = 0; k < ticks; k++) {
    const game = s.game.value;
    if (!game || game.reply.done || !s.judge.value) return;
    try {
      const id = game.reply.session_id;
      const reply: GameReply = await (said ? api.messageStep(id, ...said) : api.autoStep(id));
      const timeline = [...game.timeline, ...reply.timeline];
      s.game.value = { reply, timeline, views: [...game.views, reply.observations], shown: timeline.length };
    } catch (error) {
      failed(error, "The game stopped");
      return;
    }
  }
}
export function leaveJudge(): void {
  s.judge.value = false;
  s.panel.value = "overview";
}

// -- preferences -----------------------------------------------------------------------------------------
export function remember(name: string, value: string): void {
  try {
    localStorage.setItem(`evgrid.${name}`, value);
  } catch {
    // private windows keep nothing; the page works without
  }
}
export function recall(name: string): string | null {
  try {
    return localStorage.getItem(`evgrid.${name}`);
  } catch {
    return null;
  }
}
export function setTheme(value: s.Theme): void {
  s.theme.value = value;
  remember("theme", value);
}
