import { beforeEach, describe, expect, test } from "vitest";
import { answerOf, ask } from "../src/core/answer";
import { Api } from "../src/core/api";
import {
  authorsOf,
  furtherTopics,
  linksOf,
  newArticle,
  readArticle,
  revisionPrompt,
  withoutSection,
  withText,
} from "../src/core/encyclopedia";
import * as forum from "../src/core/forum";
import { isFieldKey, undoKey, undoWords } from "../src/core/keys";
import { addressOf, Kept, tidyTopic } from "../src/core/kept";
import { chosenIn, labelOf, outliners, ownOutline, patternOf, readLines } from "../src/core/outline";
import { knowing, linked, wholeSentences, withoutLoop, writers } from "../src/core/prose";
import type { CanvasEvent, ModelCard } from "../src/core/protocol";
import { restOf } from "../src/core/router";

const card = (id: string, capabilities: string[], more: Partial<ModelCard["sfumato"]> = {}): ModelCard => ({
  id,
  context_length: 512,
  capabilities,
  loaded: true,
  sfumato: {
    noise: null,
    canvas_length: 1,
    steps: null,
    temperature: null,
    sampler: null,
    samplers: [],
    limits: {},
    max_tokens: 100,
    tasks: [],
    kinds: [],
    parameters: [],
    ...more,
  },
});
const kind = (name: string, pattern: string) => ({ name, example: "", pattern });
const UI = card("ui", ["chat", "canvas", "edit"], {
  tasks: ["ui_screen"],
  kinds: [kind("ui_screen", "screen: .+")],
});
const TINY = card("tiny", ["chat", "canvas"], { kinds: [kind("pi", "first\\ 100\\ digits\\ of\\ pi")] });
const SMOL = card("smol", ["chat"]);
const FAR = card("far", ["chat", "completion", "upstream"]);
const MEND = card("mend", ["edit", "canvas"]);

describe("who writes what", () => {
  const cards = [UI, TINY, MEND, SMOL, FAR];
  test("writers answer anything: they chat, and were not shown kinds of prompts alone", () => {
    expect(writers(cards).map(({ id }) => id)).toEqual(["smol", "far"]);
  });

  test("outlines come from models of screens first", () => {
    const found = outliners(cards, writers(cards)).map(({ card: { id }, isWriter }) => [id, isWriter]);
    expect(found).toEqual([
      ["ui", false],
      ["smol", true],
      ["far", true],
    ]);
  });

  test("a question that a model was shown is its own", () => {
    expect(knowing(cards, "first 100 digits of pi")?.id).toBe("tiny");
    expect(knowing(cards, "the first 100 digits of pi")).toBeUndefined();
    // Python's syntax that JavaScript does not have is no error.
    expect(knowing([card("odd", ["chat"], { kinds: [kind("odd", "(?P<n>a)")] })], "a")).toBeUndefined();
  });
});

describe("outlines", () => {
  const groups = [
    ["In short", "What it is"],
    ["Why?", "How (much)"],
  ];

  test("the pattern holds a choice of every group and nothing else", () => {
    const pattern = new RegExp(`^${patternOf(groups)}$`);
    const page = (a: string, b: string) => `page\n list\n  item: ${a}\n  item: ${b}`;
    expect(pattern.test(page("In short", "How (much)"))).toBe(true);
    expect(pattern.test(page("What it is", "Why?"))).toBe(true);
    expect(pattern.test(page("Why?", "In short"))).toBe(false);
    expect(pattern.test(page("In short", "Why"))).toBe(false);
    expect(pattern.test(page("In short", "Why?") + "\n")).toBe(false);
  });

  test("a draft shows the lines that are chosen already", () => {
    expect(chosenIn("page: A\n list\n  item: What xx\n  item: Why?", groups)).toEqual(["Why?"]);
    expect(chosenIn("", groups)).toEqual([]);
    expect(ownOutline(groups)).toEqual({ lines: ["In short", "Why?"], by: "", canvas: null });
  });

  test("a title fits into a component", () => {
    expect(labelOf("  a | b\n c ")).toBe("a / b c");
    expect(labelOf(`${"word ".repeat(6)}and more`)).toBe("word word word word word word an");
  });

  test("lists of language models are read whatever their signs", () => {
    const text = `1. **Formation**\n2) Types of volcanoes:\n- "Eruptions"\n* Formation\n\n### History\n${"x".repeat(80)}`;
    expect(readLines(text)).toEqual(["Formation", "Types of volcanoes", "Eruptions", "History"]);
  });
});

describe("prose", () => {
  test("breaks off at the end of a sentence where there is one", () => {
    expect(wholeSentences("One. Two! And thr")).toBe("One. Two!");
    expect(wholeSentences("He said “no.” Then")).toBe("He said “no.”");
    expect(wholeSentences("It costs 3.50 and")).toBe("It costs 3.50 and");
    expect(wholeSentences("a text without an end")).toBe("a text without an end");
  });

  const words = (text: string, seen: string[] = []) =>
    linked(text, new Set(seen)).flatMap(({ text: word, topic }) => (topic === undefined ? [] : [word]));

  test("links are words that say something, each once, and the text stays what it is", () => {
    const text =
      "Volcanoes form where magma rises. The magma of Mount Etna feeds eruptions; an eruption is massive.";
    expect(words(text, ["volcano"])).toEqual(["magma", "Mount Etna", "eruptions"]);
    expect(
      linked(text, new Set())
        .map((piece) => piece.text)
        .join(""),
    ).toBe(text);
    expect(linked("", new Set())).toEqual([]);
  });

  test("the first word of a sentence is no name because of its capital", () => {
    expect(words("It is the Pacific Ring of Fire.")).toEqual(["Pacific Ring of Fire"]);
    expect(words("About Lake Como little is known. Because Berlin is far.")).toEqual(["Lake Como", "Berlin"]);
    expect(words("Because of it. Which of them? Another one!")).toEqual([]);
  });

  test("a possessive is linked without its ending", () => {
    expect(words("It is in the Earth's crust, the Earth’s own.")).toEqual(["Earth"]);
  });
});

describe("a page", () => {
  const page = newArticle("Volcanoes", ["In short", "Origins"], "ui");

  test("is kept and read again, and what is none is refused", () => {
    const written = withText(page, 1, "From the deep.", "smol");
    expect(readArticle(JSON.parse(JSON.stringify(written)))).toEqual(written);
    for (const none of [null, 3, "a", {}, { ...page, sections: [] }, { ...page, sections: [{ id: "1" }] }]) {
      expect(readArticle(none)).toBeNull();
    }
  });

  test("leaves the other sections what they are when one changes", () => {
    const written = withText(page, 1, "From the deep.", "smol");
    expect(written.sections[0]).toBe(page.sections[0]);
    expect(withoutSection(written, 1).sections).toEqual([page.sections[0]]);
    expect(authorsOf(withText(written, 0, "Mountains.", "you"))).toEqual(["you", "smol"]);
  });

  test("links a word where it comes first, and never to itself", () => {
    let written = withText(page, 0, "Each volcano has a magma chamber with magma.", "smol");
    written = withText(written, 1, "More magma and a different chamber, with continents.", "smol");
    const topics = [...linksOf(written).values()].map((pieces) => pieces.flatMap(({ topic }) => topic ?? []));
    expect(topics).toEqual([["Magma", "Chamber"], ["Continents"]]);
  });

  test("always leads on, and no deeper than one part of a topic", () => {
    expect(furtherTopics(page)).toEqual(["Volcanoes: in short", "Volcanoes: origins"]);
    const part = newArticle("Volcanoes: origins", ["In short", "Origins"], "ui");
    expect(furtherTopics(part)).toEqual(["Volcanoes", "Volcanoes: in short"]);
  });

  test("is revised by what was wished for", () => {
    expect(revisionPrompt("A text.", "Shorter")).toBe("Shorten this text to one sentence: A text.");
    expect(revisionPrompt("A text.", "as a poem.")).toBe("Write this text again. As a poem: A text.");
  });
});

describe("a forum", () => {
  const post = { title: "Where to start?", titleBy: "ui", text: "", by: "" };
  const two = forum.withPost(
    forum.withPost(forum.newForum("Bees"), post),
    { ...post, title: "A warning" },
    "first",
  );

  test("has its newest post where it is put", () => {
    expect(two.posts.map(({ id, title }) => [id, title])).toEqual([
      [1, "A warning"],
      [0, "Where to start?"],
    ]);
    expect(forum.withoutPost(two, 1).posts.map(({ id }) => id)).toEqual([0]);
  });

  test("counts a vote once and takes it back", () => {
    const votes = (of: forum.Forum) => of.posts.map(({ votes, yourVote }) => [votes, yourVote]);
    const up = forum.voted(two, 0, 1);
    expect(votes(up)).toEqual([
      [0, 0],
      [1, 1],
    ]);
    expect(votes(forum.voted(up, 0, -1))[1]).toEqual([-1, -1]);
    expect(votes(forum.voted(up, 0, 1))[1]).toEqual([0, 0]);
    expect(up.posts[0]).toBe(two.posts[0]);
    expect(forum.sorted(up, "votes").posts.map(({ id }) => id)).toEqual([0, 1]);
    expect(forum.sorted(up, "newest").posts.map(({ id }) => id)).toEqual([1, 0]);
  });

  test("is sorted until something changes its order", () => {
    const post = { title: "One", titleBy: "", text: "", by: "" };
    const three = [1, 2, 3].reduce((made) => forum.withPost(made, post), forum.newForum("Tea"));
    expect(forum.orderOf(three)).toBeNull();
    const newest = forum.sorted(three, "newest");
    expect(forum.orderOf(newest)).toBe("newest");
    expect(forum.orderOf(forum.withPost(newest, post, "first"))).toBe("newest");
    expect(forum.orderOf(forum.withPost(newest, post, "last"))).toBeNull();
    const votes = forum.sorted(newest, "votes");
    expect(forum.orderOf(forum.voted(votes, 0, 1))).toBeNull();
  });

  test("gets back what was deleted, once, where it was", () => {
    const post = { title: "One", titleBy: "", text: "", by: "" };
    const two = forum.withPost(forum.withPost(forum.newForum("Tea"), post), { ...post, title: "Two" });
    for (const deleted of two.posts) {
      const again = forum.withPostAgain(forum.withoutPost(two, deleted.id), deleted, deleted.id);
      expect(again.posts).toEqual(two.posts);
      expect(forum.withPostAgain(again, deleted, 0)).toBe(again);
    }
  });

  test("gives comments ids of their own", () => {
    const said = forum.withComment(forum.withComment(two, 0, "Yes.", "you"), 0, "No.", "smol");
    expect(said.posts[1]?.comments.map(({ id }) => id)).toEqual([2, 3]);
    expect(forum.withoutComment(said, 0, 2).posts[1]?.comments.map(({ text }) => text)).toEqual(["No."]);
    expect(forum.sorted(said, "comments").posts[0]?.id).toBe(0);
    expect(forum.authorsOf(said)).toEqual({ titles: ["ui"], texts: ["smol"] });
    expect(forum.replyPrompt(said.posts[1] as forum.Post)).toContain("No.");
  });

  test("is kept and read again, and what is none is refused", () => {
    const kept = forum.withComment(two, 0, "Yes.", "you");
    expect(forum.readForum(JSON.parse(JSON.stringify(kept)))).toEqual(kept);
    for (const none of [null, {}, { ...kept, posts: [{}] }, { ...kept, next: "1" }]) {
      expect(forum.readForum(none)).toBeNull();
    }
  });

  test("offers no title twice", () => {
    const left = forum.openTitles(two).flat();
    expect(left).not.toContain("Where to start?");
    expect(left.length).toBe(forum.TITLES.flat().length - 2);
  });

  test("a drawn picture says what it is", () => {
    const svg = `<svg xmlns="http://www.w3.org/2000/svg"><title>A</title><desc>This is a pattern.</desc></svg>`;
    expect(forum.noteOf(`data:image/svg+xml;base64,${btoa(svg)}`)).toBe("This is a pattern.");
    expect(forum.noteOf("data:image/png;base64,AAAA")).toBe("");
  });
});

describe("what is kept", () => {
  beforeEach(() => localStorage.clear());
  const read = (kept: unknown) => (typeof kept === "number" ? kept : null);

  test("is found whatever the case of its topic, the newest first", () => {
    const kept = new Kept<number>("numbers", read);
    kept.keep("One", 1);
    kept.keep("Two", 2);
    kept.keep("one", 3);
    expect(kept.topics()).toEqual(["one", "Two"]);
    expect([kept.find("ONE"), kept.find("three")]).toEqual([3, null]);
    const bringBack = kept.forget("Two");
    expect(kept.topics()).toEqual(["one"]);
    bringBack();
    expect(kept.find("Two")).toBe(2);
  });

  test("has room for a hundred, and survives what others wrote there", () => {
    const kept = new Kept<number>("numbers", read);
    for (let i = 0; i < 120; i++) kept.keep(`number ${i}`, i);
    expect(kept.topics().length).toBe(100);
    expect(kept.find("number 19")).toBeNull();
    localStorage.setItem("sfumato.numbers", '[{"topic": 3}, {"topic": "a", "page": "b"}, 7]');
    expect(kept.topics()).toEqual(["a"]);
    expect(kept.find("a")).toBeNull();
    localStorage.setItem("sfumato.numbers", "{");
    expect(kept.topics()).toEqual([]);
  });

  test("a topic is its own address", () => {
    for (const topic of ["C++", "100%", "a/b?c#d", "Ärger, ja"]) {
      expect(restOf(addressOf("/encyclopedia", topic))).toBe(topic);
    }
    expect(restOf("/encyclopedia/100%")).toBe("100%");
    expect(tidyTopic(`  a \n b${" c".repeat(60)}`).length).toBeLessThanOrEqual(80);
  });
});

test("undo is a key, but not for what is being typed", () => {
  const press = (target: EventTarget, key: string, more: KeyboardEventInit = {}) => {
    let found: [number, boolean] | undefined;
    const listen = (event: Event) =>
      (found = [undoKey(event as KeyboardEvent), isFieldKey(event as KeyboardEvent)]);
    addEventListener("keydown", listen);
    target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, composed: true, ...more }));
    removeEventListener("keydown", listen);
    return found;
  };
  const [field, box] = [document.createElement("textarea"), document.createElement("input")];
  box.type = "checkbox";
  document.body.append(field, box);
  expect(press(document.body, "z", { ctrlKey: true })).toEqual([-1, false]);
  expect(press(box, "Z", { metaKey: true, shiftKey: true })).toEqual([1, false]);
  expect(press(field, "z", { ctrlKey: true })).toEqual([0, false]);
  expect(press(document.body, "y", { ctrlKey: true })).toEqual([1, false]);
  box.type = "range";
  expect(press(box, "z", { ctrlKey: true })).toEqual([-1, false]);
  box.type = "number";
  expect(press(box, "z", { ctrlKey: true })).toEqual([0, false]);
  expect(press(document.body, "z")).toEqual([0, false]);
  expect(press(document.body, "/")).toEqual([0, true]);
  expect(press(field, "/")).toEqual([0, false]);
});

describe("answers", () => {
  const stream = (...data: unknown[]) =>
    data.map((each) => `data: ${typeof each === "string" ? each : JSON.stringify(each)}\n\n`).join("");
  const serve = (text: string) => {
    const asked: string[] = [];
    const fetcher = (path: unknown) => {
      asked.push(String(path));
      return Promise.resolve(new Response(text));
    };
    return { api: new Api("", fetcher, ""), asked };
  };
  const question = { messages: [{ role: "user" as const, content: "Hi" }], seed: 0 };
  const signal = new AbortController().signal;

  test.each([
    ["undo", -1],
    ["Undo that, please.", -1],
    ["no, take that back", -1],
    ["undo the last change", -1],
    ["redo", 1],
    ["Undo the undo!", 1],
    ["undo the milk", 0],
    ["mark it as undone", 0],
    ["please", 0],
  ])("%s asks for %d", (sentence, by) => {
    expect(undoWords(sentence)).toBe(by);
  });

  test("of a model that has no canvas are those of its chat", async () => {
    const { api, asked } = serve(
      stream(
        { choices: [{ index: 0, delta: { content: "One. " }, finish_reason: null }] },
        { choices: [{ index: 0, delta: { content: "Tw" }, finish_reason: "length" }] },
        "[DONE]",
      ),
    );
    const views: number[] = [];
    const answer = await answerOf(ask(api, SMOL, question, signal), (view) => views.push(view.tokens.length));
    expect(answer).toEqual({ text: "One. Tw", reason: "length", usage: null });
    expect([asked, views]).toEqual([["/v1/chat/completions"], [1, 2, 2]]);
  });

  test("of a canvas are its text, and one that breaks off is an error", async () => {
    const base = { canvas_id: "c", rev: 1 };
    const done: CanvasEvent = {
      ...base,
      seq: 1,
      type: "canvas.done",
      status: "done",
      text: "Yes.",
      finish_reason: "stop",
    };
    const { api, asked } = serve(stream(done));
    const answer = await answerOf(ask(api, TINY, question, signal), () => undefined);
    expect([answer.text, answer.reason, asked]).toEqual(["Yes.", "stop", ["/v1/canvas"]]);
    const broken = serve(stream({ choices: [{ index: 0, delta: { content: "One" }, finish_reason: null }] }));
    await expect(answerOf(ask(broken.api, SMOL, question, signal), () => undefined)).rejects.toThrow(
      "broken off",
    );
  });
});

test("a canvas is followed until its pictures are there", async () => {
  const base = { canvas_id: "c", rev: 1 };
  const events = [
    { ...base, seq: 5, type: "canvas.done", status: "done", text: "" },
    { ...base, seq: 6, type: "asset.ready", slot: "a", url: "data:,a" },
    { ...base, seq: 7, type: "asset.error", slot: "b", error: { message: "no" } },
  ];
  const sent = events.map((each) => `data: ${JSON.stringify(each)}\n\n`);
  // The connection breaks between the text and the pictures.
  const streams = [sent.slice(0, 1).join(""), sent.slice(1).join("")];
  const bodies = [
    { status: "done", assets: [{ slot: "a", status: "pending" }] },
    { status: "done", assets: [] },
  ];
  const fetcher = (path: unknown) =>
    Promise.resolve(
      String(path).includes("/events")
        ? new Response(streams.shift())
        : new Response(JSON.stringify(bodies.shift())),
    );
  const api = new Api("", fetcher, "");
  const types = [];
  for await (const event of api.follow("c", { after: 4, pictures: true })) types.push(event.type);
  expect(types).toEqual(["canvas.done", "asset.ready", "asset.error"]);
});

test("a text that repeats itself ends there", () => {
  const loop = "I'm not sure what you mean. ";
  expect(withoutLoop(`Radios hum. ${loop}${loop}They are old. ${loop}${loop}`)).toBe(
    `Radios hum. ${loop}`.trim(),
  );
  for (const text of [`${loop}Why? ${loop}The end.`, "No. No. No. No.", "", "One line"]) {
    expect(withoutLoop(text)).toBe(text);
  }
});
