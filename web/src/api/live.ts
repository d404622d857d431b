/** Events of a session over a socket: binary chunks, resumed by number after every break. */
import { decodeChunk } from "../replay/decode";
import { ROOT } from "./client";
import type { DemoEvent, ErrorEvent } from "./types";

export interface LiveHandlers {
  /** The number of the next event that is missing. */
  next(): number;
  event(event: DemoEvent): void;
  state(state: "connecting" | "open" | "lost" | "gone"): void;
}

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 8000;

/** Open the stream; returns what ends it. */
export function openLive(sessionId: string, on: LiveHandlers): () => void {
  let ended = false;
  let wait = FIRST_WAIT_MS;
  let socket: WebSocket | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const connect = (): void => {
    if (ended) return;
    on.state("connecting");
    const url = new URL(`demo/live/${encodeURIComponent(sessionId)}`, ROOT);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    url.search = `?form=binary&from=${on.next()}`;
    socket = new WebSocket(url);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      wait = FIRST_WAIT_MS;
      on.state("open");
    };
    socket.onmessage = (message: MessageEvent<ArrayBuffer | string>) => {
      if (typeof message.data === "string") {
        const error = JSON.parse(message.data) as ErrorEvent;
        if (error.type === "error") {
          ended = true;
          on.state("gone");
        }
        return;
      }
      const event = decodeChunk(message.data);
      if (event.seq === on.next()) on.event(event); // a repeated one has been seen
    };
    socket.onclose = () => {
      if (ended) return;
      on.state("lost");
      timer = setTimeout(connect, wait);
      wait = Math.min(wait * 2, LONGEST_WAIT_MS);
    };
  };
  connect();
  return () => {
    ended = true;
    clearTimeout(timer);
    socket?.close();
  };
}
