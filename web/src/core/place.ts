/** Where windows stand on a surface. Values, never changed in place. */
export interface Place {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Room {
  readonly width: number;
  readonly height: number;
}

export const LEAST: Room = { width: 240, height: 160 };
const USUAL: Room = { width: 420, height: 440 };
/** As narrow as a new window may be, so that more stand beside each other. */
const NARROW = 380;
const GAP = 16;
/** Of a window that is moved down, its bar can always be reached. */
const BAR = 44;

const clamp = (value: number, most: number) => Math.max(0, Math.min(value, most));

/** The place as far as there is room: the whole bar of the window is on the surface. */
export function within({ x, y, width, height }: Place, room: Room): Place {
  const size = { width: Math.min(width, room.width), height: Math.min(height, room.height) };
  return { x: clamp(x, room.width - size.width), y: clamp(y, room.height - BAR), ...size };
}

function overlap(one: Place, other: Place): boolean {
  return (
    one.x < other.x + other.width &&
    other.x < one.x + one.width &&
    one.y < other.y + other.height &&
    other.y < one.y + one.height
  );
}

/** A place for a window: beside the others as long as there is room, then over them, each a bit lower. */
export function placeBeside(others: readonly Place[], room: Room): Place {
  const across = Math.max(1, Math.floor((room.width - GAP) / (NARROW + GAP)));
  const height = Math.max(LEAST.height, Math.min(USUAL.height, room.height - 2 * GAP));
  const down = Math.max(1, Math.floor((room.height - GAP) / (height + GAP)));
  const share = Math.floor((room.width - GAP) / across) - GAP;
  const width = Math.max(LEAST.width, Math.min(USUAL.width, share));
  const places = Array.from({ length: across * down }, (_, i) => ({
    x: GAP + (i % across) * (width + GAP),
    y: GAP + Math.floor(i / across) * (height + GAP),
    width,
    height,
  }));
  const free = places.find((place) => !others.some((other) => overlap(place, other)));
  if (free !== undefined) return free;
  const [column, round] = [others.length % across, Math.floor(others.length / places.length) % 5];
  const x = GAP + column * (width + GAP) + 24 * round;
  return within({ x, y: GAP + 40 * round, width, height }, room);
}
