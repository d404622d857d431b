/** Requests to the server that the page came from, with one kind of error and a time limit on each. */
import type { CityFacts, Fault, GameReply, Inspection, SessionState, TickEvent } from "./types";

/** The server's root as seen from `/ui/`, so that the page works behind any path prefix. */
export const ROOT = new URL("../", document.baseURI);
const LIMIT_MS = 150_000;

export class ApiError extends Error {
  constructor(readonly status: number, readonly fault: Fault) {
    super(`${fault.code}: ${fault.message}`);
  }
}

function isFault(value: unknown): value is Fault {
  return typeof value === "object" && value !== null && "code" in value && "message" in value;
}

async function call<T>(path: string, body?: unknown): Promise<T> {
  const file = body instanceof Blob;
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), LIMIT_MS);
  let reply: Response;
  try {
    reply = await fetch(new URL(path, ROOT), {
      method: body === undefined ? "GET" : "POST",
      signal: stop.signal,
      ...(body === undefined ? {} : { headers: { "Content-Type": file ? "application/octet-stream" : "application/json" }, body: file ? body : JSON.stringify(body) }),
    });
  } catch {
    const late = stop.signal.aborted;
    throw new ApiError(0, {
      code: late ? "E_TIMEOUT" : "E_OFFLINE",
      message: late ? "The server did not answer in time." : "The server cannot be reached.",
      hint: "Check that it runs, then try again.",
    });
  } finally {
    clearTimeout(timer);
  }
  const found: unknown = await reply.json().catch(() => null);
  if (!reply.ok) {
    throw new ApiError(reply.status, isFault(found) ? found : {
      code: `HTTP ${reply.status}`, message: "The server answered with an error.", hint: "Try again.",
    });
  }
  if (found === null) {
    throw new ApiError(reply.status, { code: "E_FORMAT", message: "The reply is no JSON.", hint: "Try again." });
  }
  return found as T;
}

const query = (values: Record<string, string | number>): string =>
  new URLSearchParams(Object.entries(values).map(([k, v]) => [k, String(v)])).toString();

export interface NewOptions {
  seed?: number; scenario: string; fleet_mode: string; ticks: number; baseline: string; oracle: string;
}
export const getCity = (): Promise<CityFacts> => call("demo/city");
export const newSession = (options: NewOptions): Promise<SessionState> => call("demo/new", options);
/** A session that plays a trace file, which the server verifies first. */
export const openTrace = (file: Blob): Promise<SessionState> => call("demo/trace", file);
export const getState = (id: string): Promise<SessionState> => call(`demo/state?${query({ session_id: id })}`);
export const step = (id: string, ticks: number): Promise<{ tick: number; done: boolean; events: TickEvent[] }> =>
  call("demo/step", { session_id: id, ticks });
export const spawn = (id: string, car: Record<string, unknown>): Promise<unknown> =>
  call("demo/spawn_vehicle", { session_id: id, ...car });
export const inspect = (id: string, lane: string, tick: number, ask: string): Promise<Inspection> =>
  call(`demo/inspect?${query({ session_id: id, lane, tick, ask })}`);
export const newGame = (options: { seed: number; scenario: string; fleet_mode: string }): Promise<GameReply> =>
  call("ma/new", options);
export const messageStep = (id: string, operator: string, dispatcher: string): Promise<GameReply> =>
  call("ma/step", {
    session_id: id, actions: { grid_operator: { message: operator }, fleet_dispatcher: { message: dispatcher } },
  });
export const autoStep = (id: string): Promise<GameReply> => call("ma/auto_step", { session_id: id });
