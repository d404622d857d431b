import { describe, expect, it } from "vitest";
import type { CityFacts } from "../src/api/types";
import { HEADINGS, headingOf, METRES_PER_PX, Projection, Roads } from "../src/cinema/geo";
import { Land, lot, TILE_PX } from "../src/cinema/land";
import { nightAt, skyAt } from "../src/cinema/sky";

type Drawn = Pick<CityFacts, "stations" | "roads" | "places">;
const city: Drawn = {
  stations: [],
  roads: [
    { class: "primary", name: "east", path: [[77.5, 12.95], [77.6, 12.95]] },
    { class: "secondary", name: "north", path: [[77.55, 12.9], [77.55, 13.0]] },
  ],
  places: [
    { name: "Lake", name_kn: "", at: [77.52, 12.98], kind: "water", rank: 1 },
    { name: "Middle", name_kn: "", at: [77.58, 12.92], kind: "locality", rank: 1 },
  ],
};
const ground = new Projection(city);
const roads = new Roads(city, ground);

describe("places", () => {
  it("go to pixels and back without a metre lost", () => {
    for (const [lon, lat] of [[77.5, 12.9], [77.5512, 12.9433], [77.6, 13.0]] as const) {
      expect(Math.abs(ground.lon(ground.x(lon)) - lon)).toBeLessThan(1e-9);
      expect(Math.abs(ground.lat(ground.y(lat)) - lat)).toBeLessThan(1e-9);
    }
  });
  it("are as far apart as METRES_PER_PX says, north up and east right", () => {
    const north = ground.y(12.95) - ground.y(12.96);
    const east = ground.x(77.56) - ground.x(77.55);
    expect(north * METRES_PER_PX).toBeCloseTo(1111.95, 1);
    expect(east * METRES_PER_PX).toBeCloseTo(1111.95 * Math.cos((12.95 * Math.PI) / 180), 1);
  });
  it("lie within the drawn city", () => {
    for (const [lon, lat] of city.roads.flatMap((r) => r.path)) {
      expect(ground.x(lon)).toBeGreaterThan(0);
      expect(ground.x(lon)).toBeLessThan(ground.width);
      expect(ground.y(lat)).toBeGreaterThan(0);
      expect(ground.y(lat)).toBeLessThan(ground.height);
    }
  });
});

describe("cars", () => {
  it("point where they go", () => {
    expect(headingOf(1, 0)).toBe(0);
    expect(headingOf(0, 1)).toBe(HEADINGS / 4);
    expect(headingOf(-1, 0)).toBe(HEADINGS / 2);
    expect(headingOf(-1, -0.001)).toBe(HEADINGS / 2);
    expect(headingOf(0, -1)).toBe((3 * HEADINGS) / 4);
    expect(headingOf(1, -0.001)).toBe(0);
  });
  it("that have not moved lie along their road, on the side of their goal", () => {
    const [x, y] = [ground.x(77.53), ground.y(12.9501)];
    expect(roads.headingToward(x, y, ground.x(77.6), ground.y(12.99))).toBe(0);
    expect(roads.headingToward(x, y, ground.x(77.5), ground.y(12.9))).toBe(HEADINGS / 2);
    expect(roads.headingToward(ground.x(77.5501), ground.y(12.97), ground.x(77.56), ground.y(13.0))).toBe((3 * HEADINGS) / 4);
  });
  it("in the open point straight at their goal", () => {
    expect(roads.nearest(10, 10)).toBeNull();
    expect(roads.headingToward(10, 10, 10, 90)).toBe(HEADINGS / 4);
  });
});

describe("the ground", () => {
  const land = new Land(city, ground, roads);
  const tile = (lon: number, lat: number): [number, number] => [Math.floor(ground.x(lon) / TILE_PX), Math.floor(ground.y(lat) / TILE_PX)];
  it("has road where the city has roads, and water where it has a lake", () => {
    for (let k = 0; k <= 20; k++) {
      expect(land.at(...tile(77.5 + 0.005 * k, 12.95))).toBe("road");
      expect(land.at(...tile(77.55, 12.9 + 0.005 * k))).toBe("road");
    }
    expect(land.at(...tile(77.52, 12.98))).toBe("water");
  });
  it("has towers about a big locality and none far from it", () => {
    const count = (lon: number, lat: number): number => {
      const [column, row] = tile(lon, lat);
      let n = 0;
      for (let j = -5; j <= 5; j++) for (let i = -5; i <= 5; i++) if (land.at(column + i, row + j) === "tower") n++;
      return n;
    };
    expect(count(77.58, 12.92)).toBeGreaterThan(20);
    expect(count(77.52, 12.92)).toBe(0);
  });
  it("is the same each time, and its lots are even", () => {
    const again = new Land(city, ground, roads);
    let sum = 0;
    for (let row = 0; row < land.rows; row += 3) {
      for (let column = 0; column < land.columns; column += 3) expect(again.at(column, row)).toBe(land.at(column, row));
    }
    for (let k = 0; k < 10_000; k++) sum += lot(k % 100, Math.floor(k / 100), 1);
    expect(sum / 10_000).toBeCloseTo(0.5, 1);
  });
});

describe("the light", () => {
  it("is night by night, day by day, and turns without a jump, over midnight too", () => {
    expect(nightAt(720)).toBe(0);
    expect(nightAt(0)).toBe(1);
    expect(nightAt(1440 + 30)).toBe(1);
    expect(skyAt(720)).toMatchObject({ alpha: 0, lights: 0 });
    expect(skyAt(1320).lights).toBe(1);
    for (let m = 0; m < 2880; m++) {
      expect(Math.abs(skyAt(m + 1).alpha - skyAt(m).alpha)).toBeLessThan(0.03);
      expect(Math.abs(skyAt(m + 1).lights - skyAt(m).lights)).toBeLessThan(0.03);
    }
  });
});
