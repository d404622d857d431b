/** State to layers: pure functions, one set for both maps, so that both draw by one scale. */
import type { Layer } from "@deck.gl/core";
import { IconLayer, LineLayer, ScatterplotLayer, TextLayer } from "@deck.gl/layers";
import type { CityFacts, LonLat, State, Waiting } from "../api/types";
import type { CarBuffers, Moving } from "../replay/cars";
import { pieceAt } from "../replay/cars";
import type { LayerId, LayerSetting, Selection } from "../state/store";
import { ink, OKABE, type Rgb } from "../theme/palettes";
import { atlas, ICONS } from "./glyphs";
import { congestion, difference, feederLoad, KINDS, stationLoad, STATES, WAITING } from "./scales";
import { differenceRows, stationRows, type StationRow } from "./stationData";

export type Settings = Record<LayerId, LayerSetting>;

/** Cars whose whole route is drawn; beyond, only the followed one's. */
const MAX_ROUTES = 400;
const QUEUE_DOTS = 6;
const queueText = (n: number): string =>
  n === 0 ? "" : "•".repeat(Math.min(n, QUEUE_DOTS)) + (n > QUEUE_DOTS ? ` ${n}` : "");

export const carColor = (car: { walkin: boolean; reason: string | null }): Rgb =>
  (car.reason ? KINDS.rerouted : car.walkin ? KINDS.walkin : KINDS.request).color;

export function stationLayers(
  city: CityFacts, state: State, set: Settings, chosen: Selection | null, text: Rgb,
): Partial<Record<LayerId, Layer[]>> {
  const rows = stationRows(city, state);
  const picked = chosen?.kind === "station" ? chosen.id : null;
  const color = (d: StationRow): [number, number, number] =>
    [...(d.state === "down" ? OKABE.grey : stationLoad.color(d.load))];
  return {
    heat: [new ScatterplotLayer<StationRow>({
      id: "heat", data: rows, visible: set.heat.on, opacity: set.heat.opacity * 0.5, pickable: false,
      getPosition: (d) => d.station.at, getFillColor: color, radiusUnits: "meters",
      getRadius: (d) => 350 + 900 * Math.min(d.load, 2), radiusMinPixels: 8,
    })],
    stations: [
      new IconLayer<StationRow>({
        id: "stations", data: rows, visible: set.stations.on, opacity: set.stations.opacity, pickable: true,
        iconAtlas: atlas() as unknown as string, // a canvas is taken too; the type does not say so
        iconMapping: ICONS, getIcon: (d) => STATES[d.state].shape, getPosition: (d) => d.station.at,
        getSize: (d) => (d.station.id === picked ? 44 : 34), getColor: color, sizeUnits: "pixels",
        updateTriggers: { getSize: picked },
      }),
      new ScatterplotLayer<StationRow>({
        id: "picked", data: rows.filter((d) => d.station.id === picked), visible: set.stations.on, stroked: true,
        filled: false, getPosition: (d) => d.station.at, getLineColor: [...text], getRadius: 26, radiusUnits: "pixels",
        lineWidthUnits: "pixels", getLineWidth: 2.5,
      }),
      new TextLayer<StationRow>({
        id: "counts", data: rows, visible: set.stations.on, getText: (d) => d.text, getPosition: (d) => d.station.at,
        getSize: 11, fontWeight: 700, getColor: (d) => [...ink(color(d))], fontFamily: "system-ui, sans-serif",
        characterSet: "0123456789/!×",
      }),
      new TextLayer<StationRow>({
        id: "queues", data: rows, visible: set.stations.on, getText: (d) => queueText(d.queued),
        getPosition: (d) => d.station.at, getSize: 13, getPixelOffset: [0, 25], fontWeight: 700,
        getColor: [...text], characterSet: "0123456789• ", fontFamily: "system-ui, sans-serif",
      }),
    ],
    feeders: [feederLayer(city, state, set)],
    waiting: [new ScatterplotLayer<Waiting>({
      id: "waiting", data: state.waiting, visible: set.waiting.on, opacity: set.waiting.opacity, pickable: true,
      stroked: true, filled: false, getPosition: (d) => d.at, getRadius: (d) => (d.critical ? 7 : 5),
      radiusUnits: "pixels", lineWidthUnits: "pixels", getLineWidth: (d) => (d.critical ? 3 : 1.5),
      getLineColor: (d) => [...WAITING[d.critical ? "critical" : "usual"].color],
    })],
  };
}

/** Each station tied to the middle of its feeder's stations: a scheme, since the cables' ways are not surveyed. */
function feederLayer(city: CityFacts, state: State, set: Settings): Layer {
  const middle = city.feeders.map((_, f): LonLat => {
    const mine = city.stations.filter((s) => s.feeder === f);
    const n = Math.max(mine.length, 1);
    return [mine.reduce((a, s) => a + s.at[0], 0) / n, mine.reduce((a, s) => a + s.at[1], 0) / n];
  });
  return new LineLayer<CityFacts["stations"][number]>({
    id: "feeders", data: city.stations, visible: set.feeders.on, opacity: set.feeders.opacity, pickable: true,
    getSourcePosition: (s) => s.at, getTargetPosition: (s) => middle[s.feeder] as LonLat, widthUnits: "pixels",
    getWidth: 4, getColor: (s) => [...feederLoad.color(state.feeder_load_pct[s.feeder] ?? 0)],
    updateTriggers: { getColor: state },
  });
}

export function differenceLayers(city: CityFacts, a: State, b: State, text: Rgb): Layer[] {
  type Row = ReturnType<typeof differenceRows>[number];
  const rows = differenceRows(city, a, b);
  return [
    new ScatterplotLayer<Row>({
      id: "difference", data: rows, pickable: true, stroked: true, getPosition: (d) => d.station.at,
      radiusUnits: "pixels", getRadius: 19, getFillColor: (d) => [...difference.color(d.delta)],
      getLineColor: [...text], lineWidthUnits: "pixels", getLineWidth: 1,
    }),
    new TextLayer<Row>({
      id: "differences", data: rows, getText: (d) => (d.delta === 0 ? "tie" : difference.format(d.delta)),
      getPosition: (d) => d.station.at, getSize: 12, fontWeight: 700, characterSet: "0123456789+-tie",
      getColor: (d) => [...ink(difference.color(d.delta))], fontFamily: "system-ui, sans-serif",
    }),
  ];
}

interface Piece { from: LonLat; to: LonLat; color: [number, number, number, number]; width: number }

function piecesOf(car: Moving, minute: number, strong: boolean): Piece[] {
  const { path, minutes, congestion: jam } = car.route;
  const here = pieceAt(minutes, minute);
  const point = (k: number): LonLat => [path[2 * k] as number, path[2 * k + 1] as number];
  const out: Piece[] = [];
  for (let k = 0; k + 1 < minutes.length; k++) {
    const from = minutes[k] as number;
    const to = minutes[k + 1] as number;
    const share = k < here ? 1 : k > here ? 0 : to > from ? Math.min(Math.max((minute - from) / (to - from), 0), 1) : 1;
    const a = point(k);
    const b = point(k + 1);
    const mid: LonLat = [a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])];
    if (share > 0) out.push({ from: a, to: mid, color: [140, 148, 160, strong ? 200 : 70], width: strong ? 4 : 1 });
    if (share < 1) {
      const rgb = congestion.color(jam[k] ?? congestion.high);
      out.push({ from: mid, to: b, color: [rgb[0], rgb[1], rgb[2], strong ? 255 : 130], width: strong ? 5 : 2 });
    }
  }
  return out;
}

/** Routes at a minute: driven part grey and thin, the rest coloured by congestion; the followed car's stronger. */
export function routeLayer(cars: Moving[], minute: number, set: Settings, followed: string | null): Layer {
  const on = cars.filter((c) => c.depart <= minute && minute < c.eta);
  const drawn = on.length > MAX_ROUTES ? on.filter((c) => c.id === followed) : on;
  return new LineLayer<Piece>({
    id: "routes", data: drawn.flatMap((c) => piecesOf(c, minute, c.id === followed)), visible: set.routes.on,
    opacity: set.routes.opacity, getSourcePosition: (d) => d.from, getTargetPosition: (d) => d.to,
    getColor: (d) => d.color, getWidth: (d) => d.width, widthUnits: "pixels",
  });
}

/** Cars from buffers that are refilled every frame: only the two attributes go to the graphics card again. */
export function carLayer(buffers: CarBuffers, set: Settings): Layer {
  return new ScatterplotLayer({
    id: "cars", visible: set.cars.on, opacity: set.cars.opacity, pickable: true,
    data: {
      length: buffers.cars.length,
      attributes: {
        getPosition: { value: buffers.positions, size: 2 },
        getFillColor: { value: buffers.colors, size: 4, normalized: true },
      },
    },
    getRadius: 4.5, radiusUnits: "pixels", stroked: false,
  });
}


