/* What a measurement sees of the studio: its screens' slots, whether something is being written, and when that ends. */
(() => {
  const deep = (root, selector) =>
    [...root.querySelectorAll("*")].flatMap((node) => [
      ...(node.matches(selector) ? [node] : []),
      ...(node.shadowRoot ? deep(node.shadowRoot, selector) : []),
    ]);
  const all = (selector) => deep(document, selector);
  const holder = (node) => node.parentElement?.closest("[data-slot]")?.dataset.slot ?? "";
  /** What a slot itself shows, without the slots in it. */
  const own = (node) => {
    const copy = node.cloneNode(true);
    for (const inner of copy.querySelectorAll("[data-slot]")) inner.remove();
    for (const each of [copy, ...copy.querySelectorAll("*")]) each.classList.remove("changed");
    return copy.outerHTML + [...node.querySelectorAll("input")].map((input) => input.checked).join();
  };
  const slots = () =>
    all("sf-screen").map((screen) => ({
      screen,
      slots: new Map(
        [...screen.shadowRoot.querySelectorAll("[data-slot]")].map((node) => [
          node.dataset.slot,
          { node, own: own(node), holder: holder(node) },
        ]),
      ),
    }));
  const isBusy = () =>
    all('[aria-busy="true"]').length > 0 || all("button").some((button) => button.textContent.trim() === "Stop");
  const painted = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  const signature = () => slots().map((each) => each.screen.shadowRoot.innerHTML).join() + JSON.stringify(localStorage);

  const middle = (node) => {
    node.scrollIntoView({ block: "nearest" });
    const box = node.getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
  };
  const isOnTop = (node, x, y) => {
    let top = document.elementFromPoint(x, y);
    for (;;) {
      const inner = top?.shadowRoot?.elementFromPoint(x, y);
      if (!inner || inner === top) break;
      top = inner;
    }
    return top !== null && (node === top || node.contains(top));
  };

  let aims = [];
  let before = [];
  let started = 0;
  let starts = "";
  for (const name of ["keydown", "pointerdown", "pointerup"])
    addEventListener(name, (event) => name === starts && (started ||= event.timeStamp), { capture: true });

  window.probe = {
    /** Note what is to be seen; the clock runs from the next event of a name. */
    arm(event) {
      before = slots();
      before.signature = signature();
      [started, starts] = [0, event];
    },
    /** Wait until nothing is written any more; what changed, and after how many milliseconds it was to be seen. */
    async settle(limit) {
      await painted();
      const wasBusy = isBusy();
      while (isBusy() && performance.now() - started < limit) await painted();
      await painted();
      const ms = performance.now() - started;
      const found = new Map(slots().map(({ screen, slots }) => [screen, slots]));
      const redrawn = [];
      for (const { screen, slots } of before)
        for (const [id, was] of slots) {
          const is = found.get(screen)?.get(id);
          if (is && is.node !== was.node && is.own === was.own && is.holder === was.holder) redrawn.push(id);
        }
      const message = all(".saying span")[0]?.textContent ?? "";
      return { ms, wasBusy, isBusy: isBusy(), isChanged: signature() !== before.signature, redrawn, message };
    },
    /** What can be pressed or typed into, and is not behind anything else. */
    targets(inside) {
      const [root] = all(inside);
      aims = deep(root.shadowRoot, "button, input, select, summary").filter(
        (node) => !node.disabled && !node.closest("[inert]") && isOnTop(node, ...middle(node)),
      );
      return aims.map((node) => ({
        tag: node.localName,
        type: node.type ?? "",
        field: node.name ?? "",
        name: node.getAttribute("aria-label") ?? node.textContent.trim(),
      }));
    },
    /** Where one of them is. */
    aim: (number) => middle(aims[number]),
  };
})();
