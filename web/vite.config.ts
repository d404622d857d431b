import { defineConfig } from "vite";
import { licenses } from "./licenses";

// The build lies in the Python package, so that a wheel carries it; `base` is relative, so that it works behind
// any path prefix.
export default defineConfig({
  base: "./",
  plugins: [licenses()],
  build: {
    outDir: "../ev_grid_oracle/server/static/ui",
    emptyOutDir: true,
    target: "es2022",
    sourcemap: false,
    chunkSizeWarningLimit: 1600,
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  server: {
    proxy: Object.fromEntries(
      ["/demo", "/ma", "/healthz"].map((path) => [path, { target: "http://127.0.0.1:8000", ws: true }]),
    ),
  },
});
