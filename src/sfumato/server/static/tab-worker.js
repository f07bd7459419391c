// The service worker of /tab: the page opens without a network, out of what the page itself has put into this cache.
const SHELL = "sfumato-tab-shell";

addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));

// The browser's own cache, which holds assets too, comes first: with WebAssembly it keeps the compiled code.
async function answerTo(request, url) {
  const answer = await fetch(request).catch(() => null);
  if (answer?.ok) return answer;
  const kept = await (await caches.open(SHELL)).match(url);
  return kept ?? answer ?? fetch(request);
}

addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== "GET" || origin !== location.origin) return;
  if (request.mode === "navigate" && pathname === "/tab") event.respondWith(answerTo(request, "/tab"));
  else if (pathname.startsWith("/assets/") || pathname === "/icon.svg")
    event.respondWith(answerTo(request, request.url));
});
