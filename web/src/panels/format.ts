/** Numbers as they are read: the trace's value, rounded for the eye; the exact one is in the title. */
export function shown(value: number | null | undefined, unit = ""): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  const digits = unit === "pu" ? 4 : size >= 1000 ? 0 : size >= 100 ? 1 : size >= 1 ? 2 : 3;
  const text = value.toLocaleString("en-GB", { maximumFractionDigits: digits, minimumFractionDigits: 0 });
  return text === "-0" ? "0" : text;
}
export const signed = (value: number | null, unit = ""): string =>
  value === null ? "–" : value > 0 ? `+${shown(value, unit)}` : shown(value, unit).replace("-", "−");
export const percent = (value: number | null | undefined): string =>
  value === null || value === undefined ? "–" : `${(value * 100).toFixed(0)} %`;
export const words = (name: string): string => name.replaceAll("_", " ");
