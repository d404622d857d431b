/** Binary chunks to events: the JSON head, with its numeric lists as views on the buffer (see server/demo_chunk.py). */
import type { Column, DemoEvent, LonLat } from "../api/types";

const MAGIC = 0x43475645; // "EVGC", little-endian
const VERSION = 1;

export class ChunkError extends Error {}

interface Body { event: unknown; columns: [string, number, number[]][] }

export function decodeChunk(buffer: ArrayBuffer): DemoEvent {
  const view = new DataView(buffer);
  if (buffer.byteLength < 12 || view.getUint32(0, true) !== MAGIC || view.getUint16(4, true) !== VERSION) {
    throw new ChunkError("This is no chunk of a trace that this page can read.");
  }
  const size = view.getUint32(8, true);
  const body = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 12, size))) as Body;
  const start = Math.ceil((12 + size) / 8) * 8;
  const numbers = buffer.slice(start); // the text need not stay in memory
  const columns = body.columns.map(([kind, offset, shape]): Column => {
    const n = shape.reduce((a, b) => a * b, 1);
    return kind === "i4" ? new Int32Array(numbers, offset, n) : new Float64Array(numbers, offset, n);
  });
  return putBack(body.event, columns) as DemoEvent;
}

function putBack(value: unknown, columns: Column[]): unknown {
  if (Array.isArray(value)) return value.map((v) => putBack(v, columns));
  if (typeof value !== "object" || value === null) return value;
  const place = (value as { $?: unknown }).$;
  if (typeof place === "number") return columns[place];
  const table = (value as { "#"?: Record<string, unknown> })["#"];
  if (table) return rows(table, columns);
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, putBack(v, columns)]));
}

/** A table as the list of its rows. */
function rows(table: Record<string, unknown>, columns: Column[]): unknown[] {
  const filled = Object.entries(table).map(([k, v]) => [k, putBack(v, columns) as ArrayLike<unknown>] as const);
  return Array.from({ length: filled[0]?.[1].length ?? 0 }, (_, i) =>
    Object.fromEntries(filled.map(([k, v]) => [k, v[i]])));
}

/** A path as lon, lat, lon, lat, ...: chunks send it so, the text form in pairs. */
export function flatPath(path: Column | LonLat[]): Float64Array {
  const first: unknown = path[0];
  return Float64Array.from(Array.isArray(first) ? (path as LonLat[]).flat() : (path as Column));
}

/** A value with plain arrays for typed ones, as JSON can hold it. */
export function plain(key: string, value: unknown): unknown {
  if (!ArrayBuffer.isView(value)) return value;
  const flat = Array.from(value as unknown as ArrayLike<number>);
  if (key !== "path") return flat;
  return Array.from({ length: flat.length / 2 }, (_, k) => [flat[2 * k], flat[2 * k + 1]]);
}
