/** Pages kept on this device by topic, the most recent first. */
import { remember, remembered } from "./preferences";

const MAX_KEPT = 100;
const MAX_TOPIC = 80;

interface Entry {
  readonly topic: string;
  readonly page: unknown;
}

export class Kept<T> {
  /**
   * @param name what it is kept under
   * @param read a page out of what was kept; null if that is none
   */
  constructor(
    private readonly name: string,
    private readonly read: (kept: unknown) => T | null,
  ) {}

  topics(): string[] {
    return this.entries().map(({ topic }) => topic);
  }

  find(topic: string): T | null {
    const entry = this.entries().find((each) => isSame(each.topic, topic));
    return entry === undefined ? null : this.read(entry.page);
  }

  keep(topic: string, page: T): void {
    const others = this.entries().filter((each) => !isSame(each.topic, topic));
    remember(this.name, [{ topic, page }, ...others].slice(0, MAX_KEPT));
  }

  /** Returns a function that restores it. */
  forget(topic: string): () => void {
    const others = () => this.entries().filter((each) => !isSame(each.topic, topic));
    const gone = this.entries().filter((each) => isSame(each.topic, topic));
    remember(this.name, others());
    return () => remember(this.name, [...gone, ...others()]);
  }

  private entries(): Entry[] {
    const found = remembered<unknown>(this.name, []);
    return (Array.isArray(found) ? found : []).filter(isEntry);
  }
}

function isEntry(given: unknown): given is Entry {
  return typeof given === "object" && given !== null && typeof (given as Entry).topic === "string";
}

function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

/** A topic as it is kept and shown. */
export function tidyTopic(given: string): string {
  return given.replace(/\s+/gu, " ").trim().slice(0, MAX_TOPIC).trim();
}

/** The address of a topic's page. */
export function addressOf(base: string, topic: string): string {
  return `${base}/${encodeURIComponent(topic)}`;
}
