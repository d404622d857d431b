/** Signs of the player, drawn here: not every machine's fonts have them. */
const PATHS = {
  start: "M3 3h2v10H3z M13 3v10L6 8z", back: "M12 3v10L4 8z", play: "M4 2v12l9-6z", pause: "M4 3h3v10H4z M9 3h3v10H9z",
  on: "M4 3v10l8-5z", newest: "M11 3h2v10h-2z M3 3v10l7-5z",
} as const;

export function Icon({ name }: { name: keyof typeof PATHS }) {
  return <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"><path d={PATHS[name]} fill="currentColor" /></svg>;
}
