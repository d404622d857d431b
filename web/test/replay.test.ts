import { describe, expect, it } from "vitest";
import type { SessionState, TickEvent } from "../src/api/types";
import { Book } from "../src/replay/book";
import { CarBuffers, movingBetween, placeOf } from "../src/replay/cars";
import { ChunkError, decodeChunk, flatPath, plain } from "../src/replay/decode";
import { exportRun, FileError, importRun } from "../src/replay/file";

const state = { occupied: [1], queued: [0], slots_up: [4], inbound: [0], supplied: [true], waiting: [], minute_of_day: 1020 };
const session = (): SessionState => ({
  session_id: "s", ticks: 4, seed: 7, scenario: "baseline", schedule: [], recipe: { city: { id: "toy", sha256: "x" } },
  start: { baseline: { ...state, render: { cars: [], arrived: [] } }, oracle: { ...state, render: { cars: [], arrived: [] } } },
}) as unknown as SessionState;
const car = { id: "EV-0001", walkin: false, station_id: "A", depart_min: 0, eta_min: 10, reroute_reason: null };
const route = { path: [[77, 12], [78, 12], [78, 13]], minutes: [0, 4, 10], congestion: [1, 2] };
const lane = (cars: unknown[], arrived: string[] = []) =>
  ({ frame: { reward: -1, digest: "d" }, after: state, render: { cars, arrived }, flags: [], badge: {} });
const tick = (seq: number, cars: unknown[], arrived: string[] = []): TickEvent =>
  ({ type: "tick", seq, tick: seq, done: false, lanes: { baseline: lane([]), oracle: lane(cars, arrived) } }) as unknown as TickEvent;

function chunk(event: unknown, columns: [string, number, number[]][], arrays: ArrayBuffer): ArrayBuffer {
  const text = new TextEncoder().encode(JSON.stringify({ event, columns }));
  const start = Math.ceil((12 + text.length) / 8) * 8;
  const out = new Uint8Array(start + arrays.byteLength);
  out.set(new TextEncoder().encode("EVGC"));
  const view = new DataView(out.buffer);
  view.setUint16(4, 1, true);
  view.setUint32(8, text.length, true);
  out.set(text, 12);
  out.set(new Uint8Array(arrays), start);
  return out.buffer;
}

describe("chunks", () => {
  it("give back lists, tables and columns", () => {
    const found = decodeChunk(chunk(
      { type: "tick", a: { $: 0 }, b: [{ $: 1 }], t: { "#": { id: ["x", "y"], v: [1, 2] } } },
      [["f8", 0, [2]], ["i4", 16, [3]]], new Uint8Array(32).buffer,
    )) as unknown as Record<string, unknown>;
    expect(found.a).toBeInstanceOf(Float64Array);
    expect(found.b).toEqual([new Int32Array(3)]);
    expect(found.t).toEqual([{ id: "x", v: 1 }, { id: "y", v: 2 }]);
  });
  it("of something else are refused", () => {
    expect(() => decodeChunk(new ArrayBuffer(4))).toThrow(ChunkError);
    expect(() => decodeChunk(new TextEncoder().encode("EVGX00000000").buffer as ArrayBuffer)).toThrow(ChunkError);
  });
  it("and paths become pairs again", () => {
    expect(flatPath([[1, 2], [3, 4]])).toEqual(Float64Array.of(1, 2, 3, 4));
    expect(plain("path", Float64Array.of(1, 2, 3, 4))).toEqual([[1, 2], [3, 4]]);
    expect(plain("minutes", Float64Array.of(1, 2))).toEqual([1, 2]);
  });
});

describe("a book", () => {
  it("takes events in order only, and knows a route from the tick it was sent in", () => {
    const book = new Book(session());
    expect(book.add(tick(1, []))).toBe(false);
    book.add(tick(0, [{ ...car, route }]));
    book.add(tick(1, [{ ...car, route: null }]));
    expect(book.carsAt("oracle", 2).route[0]).toBe(0);
    expect(book.renderAt("oracle", 2).cars[0]?.route).toBeNull();
    book.add(tick(2, [], ["EV-0001"]));
    expect(book.renderAt("oracle", 3).arrived).toEqual(["EV-0001"]);
    expect(book.carsAt("oracle", 3).ids).toEqual([]);
  });
  it("comes back from its file as it was", () => {
    const book = new Book(session());
    book.add(tick(0, [{ ...car, route }]));
    book.add(tick(1, [{ ...car, route: null }]));
    const text = exportRun(book);
    expect(exportRun(importRun(text, "x"))).toBe(text);
    expect(() => importRun(text, "y")).toThrow(FileError);
    expect(() => importRun(text.slice(0, -5), "x")).toThrow(FileError);
    expect(() => importRun(text.replace('"seq":1', '"seq":5'), "x")).toThrow(FileError);
  });
});

describe("cars", () => {
  it("are where the minutes of their polyline say", () => {
    const r = { path: flatPath(route.path as [number, number][]), minutes: Float64Array.from(route.minutes), congestion: [1, 2], since: 0 };
    expect(placeOf(r, 2)).toEqual([77.5, 12]);
    expect(placeOf(r, 7)).toEqual([78, 12.5]);
    expect(placeOf(r, -1)).toEqual([77, 12]);
    expect(placeOf(r, 99)).toEqual([78, 13]);
  });
  it("set out between ticks and are clear once they have arrived", () => {
    const book = new Book(session());
    book.add(tick(0, [{ ...car, depart_min: 2, route }]));
    const buffers = new CarBuffers();
    buffers.use(movingBetween(book, "oracle", 0), () => [1, 2, 3]);
    expect([1, 2, 9.9, 10].map((m) => buffers.fill(m))).toEqual([0, 1, 1, 0]);
    expect([...buffers.colors]).toEqual([1, 2, 3, 0]);
  });
});
