/** Writes licenses.txt beside the build: the licence texts of all packages that the page may hold code or fonts of.
 *
 * Taken from the lock file, not from the bundler's modules: some packages come bundled with the code of those they
 * depend on, which no module list shows. A package without a licence text stops the build. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";

interface Locked {
  version?: string;
  license?: string;
  dev?: boolean;
  optional?: boolean;
  devOptional?: boolean;
}

const TYPES_ONLY = /(^|\/)node_modules\/(@types\/|@webgpu\/types$|undici-types$)/;
const TEXT = /^(licen[cs]e|copying|notice)/i;
const RULE = "=".repeat(100);
const HEAD = `Third-party software in the command center

The files in this folder hold code and fonts of packages of this list. Each stands with its own terms.
`;

/** Licence and notice of one package; the part of its README where it keeps them there. */
function textOf(folder: string): string {
  const names = readdirSync(folder).sort();
  const texts = names.filter((name) => TEXT.test(name)).map((name) => readFileSync(join(folder, name), "utf-8"));
  if (texts.length > 0) return texts.map((text) => text.replaceAll("\r\n", "\n").trim()).join("\n\n");
  const readme = names.find((name) => /^readme/i.test(name));
  const found = readme && /^#+ licen[cs]e[^]*/im.exec(readFileSync(join(folder, readme), "utf-8"));
  if (!found) throw new Error(`${folder} holds no licence text`);
  return found[0].trim();
}

/** The whole file, packages by name. */
export function licenseTexts(root: string): string {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf-8")) as {
    packages: Record<string, Locked>;
  };
  const parts = Object.entries(lock.packages)
    .filter(([path, one]) => path && !one.dev && !one.optional && !one.devOptional && !TYPES_ONLY.test(path))
    .map(([path, one]): [string, string] => {
      const name = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
      const title = `${name} ${one.version ?? ""} (${one.license ?? "see below"})`;
      return [`${name} ${path}`, `${RULE}\n${title}\n${RULE}\n\n${textOf(join(root, path))}\n`];
    })
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return [HEAD, ...parts.map(([, part]) => part)].join("\n");
}

export function licenses(): Plugin {
  let root = ".";
  return {
    name: "evgrid-licenses",
    apply: "build",
    configResolved(config) {
      root = config.root;
    },
    generateBundle() {
      this.emitFile({ type: "asset", fileName: "licenses.txt", source: licenseTexts(root) });
    },
  };
}
