/** The light of the hour: a mood from the clock alone, not a reading of the world. */

/** Minutes of the day at which the light turns in Bengaluru, near enough all year: the sun is up for 11.4 to 12.9 h. */
const DAWN = [330, 420] as const;
const DUSK = [1050, 1140] as const;
const DAY_MIN = 1440;
const NIGHT_RGB = [38, 48, 112] as const;
const GOLD_RGB = [255, 176, 112] as const;

export interface Sky {
  /** What the ground is multiplied with, 0xrrggbb. */
  color: number;
  /** How strongly, 0 to 1. */
  alpha: number;
  /** How bright lamps and windows are, 0 to 1. */
  lights: number;
}

const part = (m: number, [from, to]: readonly [number, number]): number => Math.min(Math.max((m - from) / (to - from), 0), 1);

/** 0 by day, 1 by night. */
export function nightAt(minuteOfDay: number): number {
  const m = ((minuteOfDay % DAY_MIN) + DAY_MIN) % DAY_MIN;
  return m < DAY_MIN / 2 ? 1 - part(m, DAWN) : part(m, DUSK);
}

export function skyAt(minuteOfDay: number): Sky {
  const night = nightAt(minuteOfDay);
  const gold = 1 - Math.abs(2 * night - 1); // in the middle of dusk and of dawn
  const mix = (k: 0 | 1 | 2): number => Math.round(NIGHT_RGB[k] + gold * (GOLD_RGB[k] - NIGHT_RGB[k]) * (1 - 0.6 * night));
  return {
    color: (mix(0) << 16) | (mix(1) << 8) | mix(2),
    alpha: Math.min(0.78 * night + 0.25 * gold, 0.8),
    lights: Math.min(Math.max((night - 0.25) / 0.6, 0), 1),
  };
}
