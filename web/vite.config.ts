import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { posix } from "node:path";
import type { Plugin } from "vite";
import { defaultClientConditions } from "vite";
import { defineConfig } from "vitest/config";

// The studio is served by `sfumato serve`; while it is worked on, `npm run dev` asks that server at this address.
const server = process.env.SFUMATO_URL ?? "http://127.0.0.1:8000";

/** Writes down what a build is made of, so that tests can tell without Node whether it is up to date. */
const sources: Plugin = {
  name: "sources",
  apply: "build",
  generateBundle() {
    const files = ["index.html", "package-lock.json", "vite.config.ts", "../src/sfumato/ui/schema.json"];
    for (const folder of ["src", "public"]) {
      const inside = readdirSync(folder, { recursive: true, encoding: "utf-8" }).map((name) =>
        posix.join(folder, name.replaceAll("\\", "/")),
      );
      files.push(...inside.filter((name) => statSync(name).isFile()));
    }
    const digests = files
      .sort()
      .map((name) => [name, createHash("sha256").update(readFileSync(name)).digest("hex")]);
    const source = JSON.stringify(Object.fromEntries(digests), null, 1);
    this.emitFile({ type: "asset", fileName: "sources.json", source });
  },
};

export default defineConfig({
  plugins: [sources],
  // onnxruntime gets its WebAssembly by the address that it is given, and brings none along.
  resolve: { conditions: ["onnxruntime-web-use-extern-wasm", ...defaultClientConditions] },
  worker: { format: "es" },
  build: {
    outDir: "../src/sfumato/server/static",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    // The page's policy forbids scripts and fonts that stand in it.
    assetsInlineLimit: 0,
  },
  server: {
    proxy: { "/v1": server, "/ready": server, "/metrics": server, "/sandbox": server, "/tab/models": server },
  },
  // No test depends on time: machines are busy.
  test: { environment: "happy-dom", include: ["tests/**/*.test.ts"], testTimeout: 600_000 },
});
