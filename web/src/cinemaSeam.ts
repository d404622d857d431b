/**
 * Where the cinema comes in: `web/src/cinema/index.ts` exports `open(source, close)`; it is fetched when it is opened.
 * `source` is the frames (replay/source.ts): the cinema owns no state and makes no request of its own.
 */
import type { FrameSource } from "./replay/source";
import { frameSource } from "./replay/source";
import * as s from "./state/store";

export interface Cinema {
  /** Show itself over the page; `close` tells the page that it has gone. Returns what ends it. */
  open(source: FrameSource, close: () => void): () => void;
}

const found = import.meta.glob<Cinema>("./cinema/index.ts");
/** Is there a cinema in this build? */
export const cinema: (() => Promise<Cinema>) | undefined = found["./cinema/index.ts"];

export async function openCinema(): Promise<void> {
  const city = s.city.value;
  if (!cinema || !city) return;
  try {
    (await cinema()).open(frameSource(city, () => s.book.value, s.clock), () => s.clock.tell(true));
  } catch (error) {
    s.say(`The cinema could not be opened: ${String(error)}`, "error");
  }
}
