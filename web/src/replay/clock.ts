/**
 * The one clock: a position in ticks that every view reads.
 *
 * Time passes only while a frame is drawn, and never more than `LONGEST_MS` of it in one: a hidden tab stands
 * still and goes on where it was.
 */
export const SPEEDS = [1, 2, 4, 8, 16] as const;
/** Seconds a tick takes at speed 1. */
export const TICK_S = 2;
const LONGEST_MS = 250;

export interface ClockListener {
  /** Every frame; `jumped` where the position did not just flow on. */
  (position: number, jumped: boolean): void;
}

export class Clock {
  position = 0;
  playing = false;
  speed = 1;
  /** Stay at the newest position as it comes. */
  live = false;
  /** Where the clock is between ticks while it moves in whole ones. */
  private flowing = 0;
  private last = 0;
  private request = 0;
  private readonly listeners = new Set<ClockListener>();

  /**
   * end: the newest position. stopped: told when play ends. calm: people who wish for less motion see the clock and
   * the cars go from tick to tick.
   */
  constructor(
    private readonly end: () => number, private readonly stopped: () => void,
    private readonly calm: () => boolean = () => false,
  ) {}

  listen(listener: ClockListener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Go to a position, held within what there is. */
  seek(position: number): void {
    this.position = this.flowing = Math.min(Math.max(position, 0), this.end());
    this.tell(true);
  }

  play(): void {
    if (this.playing) return;
    this.playing = true;
    this.last = 0;
    this.flowing = this.position;
    this.request = requestAnimationFrame(this.frame);
  }

  pause(): void {
    this.playing = false;
    cancelAnimationFrame(this.request);
    this.stopped();
  }

  tell(jumped: boolean): void {
    for (const listener of this.listeners) listener(this.position, jumped);
  }

  /** One frame of play, `now` in milliseconds. */
  readonly frame = (now: number): void => {
    if (!this.playing) return;
    const passed = this.last === 0 ? 0 : Math.min(now - this.last, LONGEST_MS);
    this.last = now;
    const end = this.end();
    this.flowing = Math.min(this.flowing + (passed / 1000 / TICK_S) * this.speed, end);
    const next = this.calm() ? Math.floor(this.flowing + 1e-9) : this.flowing;
    if (next !== this.position) {
      this.position = Math.max(next, this.position);
      this.tell(false);
    }
    if (this.position >= end && !this.live) {
      this.pause();
      return;
    }
    this.request = requestAnimationFrame(this.frame);
  };
}
