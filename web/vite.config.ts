import { defineConfig } from "vitest/config";

// The studio is served by `sfumato serve`; while it is worked on, `npm run dev` asks that server at this address.
const server = process.env.SFUMATO_URL ?? "http://127.0.0.1:8000";

export default defineConfig({
  build: {
    outDir: "../src/sfumato/server/static",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    // The page's policy forbids scripts and fonts that stand in it.
    assetsInlineLimit: 0,
  },
  server: { proxy: { "/v1": server, "/ready": server, "/metrics": server, "/sandbox": server } },
  test: { environment: "happy-dom", include: ["tests/**/*.test.ts"] },
});
