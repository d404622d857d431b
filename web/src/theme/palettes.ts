/** Colours: Okabe and Ito for kinds, viridis for load, blue-white-orange about 0 for differences. */
export type Rgb = readonly [number, number, number];

export const OKABE = {
  black: [0, 0, 0], orange: [230, 159, 0], sky: [86, 180, 233], green: [0, 158, 115], yellow: [240, 228, 66],
  blue: [0, 114, 178], vermillion: [213, 94, 0], purple: [204, 121, 167], grey: [153, 160, 170],
} as const satisfies Record<string, Rgb>;

/** Viridis from 15 % of its range on, so that its dark end stays visible on a dark map. */
export const VIRIDIS: readonly Rgb[] = [
  [70, 50, 127], [54, 92, 141], [39, 127, 142], [31, 161, 135], [74, 194, 109], [159, 218, 58], [253, 231, 37],
];
export const DIVERGING: readonly Rgb[] = [
  [33, 102, 172], [103, 169, 207], [209, 229, 240], [247, 247, 247], [253, 219, 163], [241, 163, 64], [179, 88, 6],
];

export const css = (c: Rgb): string => `rgb(${c[0]} ${c[1]} ${c[2]})`;

/** Black or white, whichever stands out on `c` (WCAG's relative luminance). */
export function ink(c: Rgb): Rgb {
  const [r, g, b] = c.map((v) => {
    const s = v / 255;
    return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? [10, 14, 20] : [255, 255, 255];
}

/** The colour at `t` in 0 to 1 on evenly spaced stops. */
export function along(stops: readonly Rgb[], t: number): Rgb {
  const x = Math.min(Math.max(t, 0), 1) * (stops.length - 1);
  const k = Math.min(Math.floor(x), stops.length - 2);
  const a = stops[k] as Rgb;
  const b = stops[k + 1] as Rgb;
  const s = x - k;
  return [0, 1, 2].map((i) => Math.round((a[i] as number) + s * ((b[i] as number) - (a[i] as number)))) as unknown as Rgb;
}
