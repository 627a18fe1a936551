// Purpose: the colours of the theme, read from its CSS variables, as text and as pixels.

export interface Palette {
  readonly dark: boolean;
  readonly background: string;
  readonly surface: string;
  readonly border: string;
  readonly text: string;
  readonly muted: string;
  readonly focus: string;
  readonly limit: string;
  readonly axis: string;
  readonly bands: readonly string[];
  readonly labels: readonly string[];
  /** Packed as ImageData has them; of each band its colour and that of its hatch. */
  readonly pixel: Uint32Array;
  readonly hatch: Uint32Array;
  readonly pixelBackground: number;
  readonly pixelText: number;
  readonly pixelUnknown: number;
  readonly pixelFloor: number;
  /** 0 plain, 1 diagonal /, 2 diagonal \, 3 dots, 4 level lines. */
  readonly pattern: Uint8Array;
}

const PATTERN: Record<string, number> = {
  context: 1,
  cache: 2,
  unattributed: 3,
  reserved: 4
};

type Rgb = readonly[number, number, number];

function parse(colour: string): Rgb {
  const found = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(colour);
  return found === null ? [128, 128, 128] :
                          [parseInt(found[1], 16), parseInt(found[2], 16), parseInt(found[3], 16)];
}

function mix(a: Rgb, b: Rgb, share: number): Rgb {
  return [a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share, a[2] + (b[2] - a[2]) * share];
}

function pack(rgb: Rgb): number {
  return ((255 << 24) | (Math.round(rgb[2]) << 16) | (Math.round(rgb[1]) << 8) | Math.round(rgb[0])) >>> 0;
}

function read(bands: readonly string[]): Palette {
  const style = getComputedStyle(document.documentElement);
  const get = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const key = (band: string) => `band-${band.replace(/ /g, '-')}`;
  const colours = bands.map((band) => get(key(band)) || '#888888');
  const background = get('background') || '#ffffff', ground = parse(background);
  return {
    dark: ground[0] + ground[1] + ground[2] < 384,
    background,
    surface: get('surface'),
    border: get('border'),
    text: get('text'),
    muted: get('muted'),
    focus: get('focus'),
    limit: get('limit'),
    axis: get('axis'),
    bands: colours,
    labels: bands.map((band) => get(`${key(band)}-label`) || '#ffffff'),
    pixel: Uint32Array.from(colours, (one) => pack(parse(one))),
    hatch: Uint32Array.from(colours, (one) => pack(mix(parse(one), ground, 0.38))),
    pixelBackground: pack(ground),
    pixelText: pack(parse(get('text'))),
    pixelUnknown: pack(mix(parse(get('axis')), ground, 0.72)),
    pixelFloor: pack(mix(parse(get('text')), ground, 0.75)),
    pattern: Uint8Array.from(bands, (band) => PATTERN[band] ?? 0)
  };
}

const systemIsDark = matchMedia('(prefers-color-scheme: dark)');
let known: Palette|null = null;
let knownFor = '';

/** The palette of the theme that is set now. */
export function palette(bands: readonly string[]): Palette {
  const theme = document.documentElement.dataset.theme ?? '';
  const key = `${theme} ${systemIsDark.matches} ${bands.join()}`;
  if (known === null || key !== knownFor) {
    known = read(bands);
    knownFor = key;
  }
  return known;
}
