/** Fonts of the map's labels, bundled: without them MapLibre draws the labels blank, and no request leaves. */
import kannada from "@fontsource/noto-sans-kannada/files/noto-sans-kannada-kannada-400-normal.woff2?url";
import latin from "@fontsource/noto-sans/files/noto-sans-latin-400-normal.woff2?url";

export const LATIN = "Evgrid Sans";
export const KANNADA = "Evgrid Kannada";

export async function loadFonts(): Promise<void> {
  const faces = [new FontFace(LATIN, `url(${latin})`), new FontFace(KANNADA, `url(${kannada})`)];
  const loaded = await Promise.allSettled(faces.map((face) => face.load()));
  for (const one of loaded) if (one.status === "fulfilled") document.fonts.add(one.value);
}
