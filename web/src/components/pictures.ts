/** Pictures that arrive late: requested for slots of a canvas, and followed until they are ready. */
import type { ReactiveControllerHost } from "lit";
import { api } from "../core/api";
import { applyEvent, emptyView } from "../core/canvas";
import type { Asset, ModelCard, Picture } from "../core/protocol";
import { messageOf } from "../core/say";

const SIZE = "640x360";

export class Pictures {
  private assets: ReadonlyMap<string, Asset> = new Map();
  /** Canvases that are followed, and whether something was asked for since. */
  private readonly followed = new Map<string, boolean>();

  constructor(private readonly host: ReactiveControllerHost) {}

  /** Its state; undefined if not known yet. */
  find({ canvas, slot }: Picture): Asset | undefined {
    return this.assets.get(keyOf(canvas, slot));
  }

  /** Has a picture made. Throws nothing. */
  async ask(picture: Picture): Promise<void> {
    const { canvas, slot, prompt } = picture;
    this.put(canvas, [{ slot, status: "pending" }]);
    try {
      await api.addPicture(canvas, { slot, prompt, size: SIZE });
      await this.follow(canvas);
    } catch (error) {
      this.fail(picture, error);
    }
  }

  /** Looks for pictures that were asked for before. Throws nothing. */
  async open(pictures: readonly Picture[]): Promise<void> {
    await Promise.all(
      [...new Set(pictures.map(({ canvas }) => canvas))].map(async (canvas) => {
        const those = pictures.filter((each) => each.canvas === canvas);
        try {
          await this.follow(canvas);
          for (const each of those) {
            if (this.find(each) === undefined) this.fail(each, new Error("the server has it no longer"));
          }
        } catch (error) {
          for (const each of those) this.fail(each, error);
        }
      }),
    );
  }

  private async follow(canvas: string): Promise<void> {
    if (this.followed.has(canvas)) {
      this.followed.set(canvas, true);
      return;
    }
    try {
      do {
        this.followed.set(canvas, false);
        let view = emptyView(canvas);
        for await (const event of api.follow(canvas, { pictures: true })) {
          view = applyEvent(view, event);
          this.put(canvas, [...view.assets.values()]);
        }
      } while (this.followed.get(canvas) === true);
    } finally {
      this.followed.delete(canvas);
    }
  }

  private fail({ canvas, slot }: Picture, error: unknown): void {
    this.put(canvas, [{ slot, status: "error", error: { message: messageOf(error) } }]);
  }

  private put(canvas: string, assets: readonly Asset[]): void {
    const changed = assets.map((asset): [string, Asset] => [keyOf(canvas, asset.slot), asset]);
    this.assets = new Map([...this.assets, ...changed]);
    this.host.requestUpdate();
  }
}

function keyOf(canvas: string, slot: string): string {
  return `${canvas}/${slot}`;
}

/** A canvas for pictures alone; null where all models are elsewhere. Throws ApiError. */
export async function canvasForPictures(cards: readonly ModelCard[], topic: string): Promise<string | null> {
  const here = cards.filter(({ capabilities }) => !capabilities.includes("upstream"));
  const editor = here.find(({ capabilities }) => capabilities.includes("edit"));
  const model = editor ?? here[0];
  if (model === undefined) return null;
  const empty = editor === undefined ? { prompt: topic, max_tokens: 1 } : { text: topic, spans: [] };
  return (await api.createCanvas({ model: model.id, ...empty })).id;
}
