/** The base map's style, drawn from the city's own roads, water and places: no tiles, no glyph server. */
import type { GeoJSONSourceSpecification, LayerSpecification, StyleSpecification } from "maplibre-gl";
import type { CityFacts } from "../api/types";
import { KANNADA, LATIN } from "../theme/fonts";

export interface Ground { land: string; road: string; major: string; water: string; park: string; text: string; halo: string }

export const GROUNDS: Record<"dark" | "light" | "contrast", Ground> = {
  dark: { land: "#0d1420", road: "#26334a", major: "#3a4b69", water: "#12304d", park: "#12281f", text: "#a9b8cf", halo: "#0d1420" },
  light: { land: "#f3f1ec", road: "#d4d0c7", major: "#b9b3a6", water: "#b9d6ea", park: "#cfe3c4", text: "#3c4657", halo: "#f8f6f2" },
  contrast: { land: "#000000", road: "#6b7280", major: "#c0c6d0", water: "#003a70", park: "#003d1f", text: "#ffffff", halo: "#000000" },
};

/** A lake or park has a place and a rank only: it is drawn as a disc of this radius in metres. */
const RADIUS_M: Record<number, number> = { 1: 700, 2: 450, 3: 300 };

type Feature = GeoJSON.Feature<GeoJSON.Geometry, { [key: string]: string | number }>;
const source = (features: Feature[]): GeoJSONSourceSpecification => ({
  type: "geojson", data: { type: "FeatureCollection", features },
});

function disc([lon, lat]: [number, number], radiusM: number): [number, number][] {
  const north = radiusM / 111_195;
  const east = north / Math.cos((lat * Math.PI) / 180);
  return Array.from({ length: 25 }, (_, k) => {
    const a = (k / 24) * 2 * Math.PI;
    return [lon + east * Math.cos(a), lat + north * Math.sin(a)] as [number, number];
  });
}

export function baseStyle(city: CityFacts, ground: Ground, names: boolean): StyleSpecification {
  const areas = city.places.filter((p) => p.kind === "water" || p.kind === "park").map((p): Feature => ({
    type: "Feature", properties: { kind: p.kind },
    geometry: { type: "Polygon", coordinates: [disc(p.at, RADIUS_M[p.rank] ?? 300)] },
  }));
  const roads = city.roads.map((r): Feature => ({
    type: "Feature", properties: { class: r.class }, geometry: { type: "LineString", coordinates: r.path },
  }));
  const places = city.places.map((p): Feature => ({
    type: "Feature", properties: { en: p.name, kn: p.name_kn, rank: p.rank, kind: p.kind },
    geometry: { type: "Point", coordinates: p.at },
  }));
  const major = ["in", ["get", "class"], ["literal", ["expressway", "trunk", "primary"]]];
  const layers: LayerSpecification[] = [
    { id: "land", type: "background", paint: { "background-color": ground.land } },
    { id: "areas", type: "fill", source: "areas",
      paint: { "fill-color": ["match", ["get", "kind"], "water", ground.water, ground.park] } },
    { id: "minor", type: "line", source: "roads", filter: ["!", major] as never, layout: { "line-cap": "round" },
      paint: { "line-color": ground.road, "line-width": ["interpolate", ["linear"], ["zoom"], 9, 0.5, 15, 3] } },
    { id: "major", type: "line", source: "roads", filter: major as never, layout: { "line-cap": "round" },
      paint: { "line-color": ground.major, "line-width": ["interpolate", ["linear"], ["zoom"], 9, 1, 15, 6] } },
  ];
  if (names) {
    layers.push({
      id: "names", type: "symbol", source: "places",
      filter: ["<=", ["get", "rank"], ["step", ["zoom"], 1, 11, 2, 12, 3]] as never,
      layout: {
        "text-field": ["format", ["get", "en"], { "text-font": ["literal", [LATIN]] },
          "\n", {}, ["get", "kn"], { "text-font": ["literal", [KANNADA]], "font-scale": 0.85 }] as never,
        "text-font": [LATIN], "text-size": ["interpolate", ["linear"], ["zoom"], 9, 10, 14, 13],
        "symbol-sort-key": ["get", "rank"], "text-offset": [0, 1.6], "text-anchor": "top",
      },
      paint: { "text-color": ground.text, "text-halo-color": ground.halo, "text-halo-width": 1.4 },
    });
  }
  return {
    version: 8, sources: { areas: source(areas), roads: source(roads), places: source(places) }, layers,
  };
}
