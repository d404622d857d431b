import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { difference, feederLoad, stationLoad, stationState } from "../src/map/scales";
import { Clock } from "../src/replay/clock";
import { along, DIVERGING, ink } from "../src/theme/palettes";

describe("the clock", () => {
  beforeEach(() => {
    vi.stubGlobal("requestAnimationFrame", () => 1);
    vi.stubGlobal("cancelAnimationFrame", () => undefined);
  });
  afterEach(() => vi.unstubAllGlobals());
  const made = (end: number, calm = false): Clock => new Clock(() => end, () => undefined, () => calm);

  it("flows with the frames and holds the last one", () => {
    const clock = made(1);
    clock.play();
    clock.frame(1000);
    clock.frame(1200);
    expect(clock.position).toBeCloseTo(0.1);
    for (let t = 1400; t < 5000; t += 200) clock.frame(t);
    expect(clock.position).toBe(1);
    expect(clock.playing).toBe(false);
  });
  it("stands still while its tab is hidden", () => {
    const clock = made(100);
    clock.play();
    clock.frame(1000);
    clock.frame(61_000); // a minute without a frame
    expect(clock.position).toBeLessThan(0.2);
  });
  it("goes in whole ticks for who wishes for less motion", () => {
    const clock = made(10, true);
    const seen: number[] = [];
    clock.listen((p) => seen.push(p));
    clock.play();
    for (let t = 1000; t < 6000; t += 200) clock.frame(t);
    expect(seen).toEqual([1, 2]);
  });
  it("never leaves what there is", () => {
    const clock = made(3);
    clock.seek(9);
    expect(clock.position).toBe(3);
    clock.seek(-2);
    expect(clock.position).toBe(0);
  });
});

describe("scales", () => {
  it("are white at a tie and symmetric in strength", () => {
    expect(difference.color(0)).toEqual(DIVERGING[3]);
    expect(difference.format(3)).toBe("+3");
  });
  it("hold outside their ends", () => {
    expect(stationLoad.color(9)).toEqual(stationLoad.color(1.5));
    expect(feederLoad.color(0)).toEqual(feederLoad.color(0.4));
    expect(along([[0, 0, 0], [10, 20, 30]], 0.5)).toEqual([5, 10, 15]);
  });
  it("say a station's state in words that exclude each other", () => {
    expect([
      stationState(3, 0, 8, 8, true), stationState(8, 0, 8, 8, true), stationState(8, 2, 8, 8, true),
      stationState(3, 0, 6, 8, true), stationState(0, 0, 0, 8, true), stationState(3, 0, 8, 8, false),
    ]).toEqual(["free", "full", "queue", "reduced", "down", "down"]);
  });
  it("write on colours so that it can be read", () => {
    expect(ink([253, 231, 37])).toEqual([10, 14, 20]);
    expect(ink([54, 40, 90])).toEqual([255, 255, 255]);
  });
});
