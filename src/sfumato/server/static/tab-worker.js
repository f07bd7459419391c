// The service worker of /tab: the page opens without a network, out of what the page itself has put into this cache.
const SHELL = "sfumato-tab-shell";

addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));

async function ofTheServer(request) {
  try {
    return await fetch(request);
  } catch (error) {
    const kept = await (await caches.open(SHELL)).match("/tab");
    if (kept === undefined) throw error;
    return kept;
  }
}

async function ofTheCache(request) {
  return (await (await caches.open(SHELL)).match(request.url)) ?? fetch(request);
}

addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== "GET" || origin !== location.origin) return;
  if (request.mode === "navigate" && pathname === "/tab") event.respondWith(ofTheServer(request));
  else if (pathname.startsWith("/assets/") || pathname === "/icon.svg")
    event.respondWith(ofTheCache(request));
});
