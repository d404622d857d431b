/** One map with its deck.gl overlay; two of them share a camera through `link`. */
import { MapLibreOverlay } from "@deck.gl/maplibre";
import type { Layer, PickingInfo } from "@deck.gl/core";
import { Map as MapLibreMap, setWorkerUrl } from "maplibre-gl";
import workerUrl from "maplibre-gl/dist/maplibre-gl-worker.mjs?worker&url";
import "maplibre-gl/dist/maplibre-gl.css";
import type { CityFacts } from "../api/types";
import type { Camera } from "../state/store";
import { baseStyle, type Ground } from "./basemap";

setWorkerUrl(workerUrl);

export interface HostEvents {
  pick(info: PickingInfo): void;
  hover(info: PickingInfo): void;
  lost(): void;
  restored(): void;
}

/** Height that a lane's name and chips may take at the top of its map. */
const TITLE_PX = 84;

export class MapHost {
  readonly map: MapLibreMap;
  private readonly overlay: MapLibreOverlay;
  private layers: Layer[] = [];

  constructor(
    readonly element: HTMLElement, private readonly city: CityFacts, ground: Ground, names: boolean,
    camera: Camera | null, on: HostEvents,
  ) {
    const [south, north, west, east] = city.bbox;
    this.map = new MapLibreMap({
      container: element, style: baseStyle(city, ground, names), attributionControl: false, dragRotate: false,
      pitchWithRotate: false, touchPitch: false, maxZoom: 16, minZoom: 8, canvasContextAttributes: { preserveDrawingBuffer: true },
      maxBounds: [[west - 0.3, south - 0.3], [east + 0.3, north + 0.3]], fadeDuration: 0,
      ...(camera ? { center: [camera.lon, camera.lat], zoom: camera.zoom } : { bounds: this.stationBox(), fitBoundsOptions: { padding: { top: Math.min(TITLE_PX, element.clientHeight / 3), bottom: 34, left: 30, right: 30 } } }),
    });
    this.map.touchZoomRotate.disableRotation();
    this.overlay = new MapLibreOverlay({
      interleaved: false, layers: [], pickingRadius: 6, onClick: on.pick, onHover: on.hover,
      deviceProps: { webgl: { preserveDrawingBuffer: true } },
    });
    this.map.addControl(this.overlay);
    this.map.on("webglcontextlost", on.lost);
    this.map.on("webglcontextrestored", on.restored);
  }

  /** The box of the stations: every one is within the city, or the data is wrong (latitude and longitude swapped). */
  private stationBox(): [[number, number], [number, number]] {
    const lon = this.city.stations.map((s) => s.at[0]);
    const lat = this.city.stations.map((s) => s.at[1]);
    return [[Math.min(...lon), Math.min(...lat)], [Math.max(...lon), Math.max(...lat)]];
  }

  setLayers(layers: Layer[]): void {
    this.layers = layers;
    this.overlay.setProps({ layers });
  }

  /** The layers now shown, for tests. */
  get shown(): Layer[] {
    return this.layers;
  }

  setGround(ground: Ground, names: boolean): void {
    this.map.setStyle(baseStyle(this.city, ground, names), { diff: true });
  }

  get camera(): Camera {
    const c = this.map.getCenter();
    return { lon: c.lng, lat: c.lat, zoom: this.map.getZoom() };
  }

  /** Both canvases as one picture. */
  picture(): HTMLCanvasElement[] {
    return [...this.element.querySelectorAll("canvas")];
  }

  remove(): void {
    this.map.remove();
  }
}

/** Move both maps as one. */
export function link(a: MapHost, b: MapHost, moved: (camera: Camera) => void): void {
  let leading = false;
  for (const [from, to] of [[a, b], [b, a]] as const) {
    from.map.on("move", () => {
      if (leading) return;
      leading = true;
      const { lon, lat, zoom } = from.camera;
      to.map.jumpTo({ center: [lon, lat], zoom });
      leading = false;
    });
    from.map.on("moveend", () => moved(from.camera));
  }
}
