/** The theme that holds: chosen, or the system's wish. */
import { computed, effect, signal } from "@preact/signals";
import { theme } from "../state/store";

const dark = matchMedia("(prefers-color-scheme: dark)");
const more = matchMedia("(prefers-contrast: more)");
const system = signal<"dark" | "light" | "contrast">("dark");
const read = (): void => {
  system.value = more.matches ? "contrast" : dark.matches ? "dark" : "light";
};

const shown = computed(() => (theme.value === "auto" ? system.value : theme.value));
/** `dark`, `light` or `contrast`. */
export const currentGround = (): "dark" | "light" | "contrast" => shown.value;

export function followSystem(): void {
  read();
  dark.addEventListener("change", read);
  more.addEventListener("change", read);
  effect(() => {
    document.documentElement.dataset.theme = shown.value;
  });
}
