// The service worker of /tab: the page opens without a network, out of what the page itself has put into this cache.
// Other pages need the server; where it cannot be reached, one that says so takes their place.
const SHELL = "sfumato-tab-shell";

const NO_SERVER = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>No server · Sfumato</title>
    <script src="/looks.js"></script>
    <style>
      [data-theme="light"] {
        color-scheme: light;
      }
      [data-theme="dark"] {
        color-scheme: dark;
      }
      html {
        font: 16px/1.5 system-ui, sans-serif;
        background: light-dark(#f7f5f2, #15131a);
        color: light-dark(#211d2b, #ece8f3);
      }
      body {
        max-width: 40rem;
        margin: 15vh auto 0;
        padding: 0 1rem;
      }
      h1 {
        font-size: 1.5rem;
      }
      a {
        color: light-dark(#5b3fa0, #c4aef5);
      }
    </style>
  </head>
  <body>
    <h1>This page needs the server</h1>
    <p>The server cannot be reached. <a href="">Try again</a> once it is running.</p>
    <p><a href="/tab">Tab</a> works without it: its model runs in this browser.</p>
  </body>
</html>
`;

addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));

// The browser's own cache, which holds assets too, comes first: with WebAssembly it keeps the compiled code.
async function answerTo(request, url) {
  const answer = await fetch(request).catch(() => null);
  if (answer?.ok) return answer;
  const kept = await (await caches.open(SHELL)).match(url);
  return kept ?? answer ?? fetch(request);
}

async function answerOrSay(request) {
  try {
    return await fetch(request);
  } catch {
    return new Response(NO_SERVER, {
      status: 503,
      headers: {
        "Content-Type": "text/html;charset=utf-8",
        "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'",
      },
    });
  }
}

addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== "GET" || origin !== location.origin) return;
  if (request.mode === "navigate" && pathname === "/tab") event.respondWith(answerTo(request, "/tab"));
  else if (request.mode === "navigate" && request.destination === "document")
    event.respondWith(answerOrSay(request));
  else if (pathname.startsWith("/assets/") || ["/icon.svg", "/looks.js"].includes(pathname))
    event.respondWith(answerTo(request, request.url));
});
