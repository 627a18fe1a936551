// Purpose: what the user looks at: one immutable value, kept in the fragment of the URL.

export interface ViewState {
  readonly tab: string;
  readonly process: number;
  /** The lane that has the keyboard and whose composition is shown. */
  readonly lane: number;
  /** The stretch of time that is shown, ns. */
  readonly from: number;
  readonly to: number;
  /** The picked instant, ns. */
  readonly at: number|null;
  /** A selected stretch of time, ns. */
  readonly range: readonly[number, number]|null;
  readonly search: string;
  /** A node of the stack tree. */
  readonly selected: number|null;
  /** The node whose subtree fills the flame graph. */
  readonly focus: number|null;
  /** Hidden bands, one bit for each. */
  readonly hidden: number;
  /** The flame graph shows callees first (false) or callers of each site (true). */
  readonly callers: boolean;
  readonly allFrames: boolean;
  readonly by: 'line'|'site';
  readonly table: boolean;
  /** Instants that the user marked 1 to 9, ns; null where none is. */
  readonly marks: readonly(number|null)[];
  /** Kept for the views of the documents, as "name:value". */
  readonly choice: string;
}

type Codec<T> = {
  key: string; write(value: T): string | null; read(text: string): T | undefined
};
type Codecs = {
  [K in keyof ViewState]: Codec<ViewState[K]>
};

function count(text: string): number|undefined {
  const value = Number(text);
  return text !== '' && Number.isFinite(value) && value >= 0 ? value : undefined;
}
const text = (key: string): Codec<string> => ({key, write: (v) => v || null, read: (t) => t});
const number = (key: string): Codec<number> => ({key, write: (v) => String(v), read: count});
const perhaps = (key: string): Codec<number|null> =>
    ({key, write: (v) => (v === null ? null : String(v)), read: count});
const flag = (key: string): Codec<boolean> => ({key, write: (v) => (v ? '1' : null), read: (t) => t === '1'});

function readRange(value: string): [number, number]|undefined {
  const [a, b] = value.split('-').map(count);
  return a !== undefined && b !== undefined && a < b ? [a, b] : undefined;
}

const CODECS: Codecs = {
  tab: text('tab'),
  process: number('p'),
  lane: number('l'),
  from: number('from'),
  to: number('to'),
  at: perhaps('t'),
  range: {key: 'r', write: (v) => (v === null ? null : v.join('-')), read: readRange},
  search: text('q'),
  selected: perhaps('sel'),
  focus: perhaps('focus'),
  hidden: number('hide'),
  callers: flag('callers'),
  allFrames: flag('all'),
  by: {key: 'by', write: (v) => (v === 'line' ? null : v), read: (t) => (t === 'site' ? 'site' : 'line')},
  table: flag('table'),
  marks: {
    key: 'm',
    write: (v) => (v.every((one) => one === null) ? null : v.map((one) => one ?? '').join(',')),
    read: (t) => t.split(',').slice(0, 9).map((one) => count(one) ?? null)
  },
  choice: text('c')
};

/** The fragment, without "#". What equals its absence is left out. */
export function writeFragment(state: ViewState): string {
  const out = new URLSearchParams({v: '1'});
  for (const name of Object.keys(CODECS) as (keyof ViewState)[]) {
    const codec = CODECS[name] as Codec<unknown>;
    const value = codec.write(state[name]);
    if (value !== null) out.set(codec.key, value);
  }
  return out.toString();
}

/** What a fragment says; fields that it lacks are those of `otherwise`, the state that the page opens with. */
export function readFragment(fragment: string, otherwise: ViewState): ViewState {
  const given = new URLSearchParams(fragment.replace(/^#/, ''));
  if (given.get('v') !== '1') return otherwise;
  const out: Record<string, unknown> = {...otherwise};
  for (const name of Object.keys(CODECS) as (keyof ViewState)[]) {
    const codec = CODECS[name] as Codec<unknown>;
    const value = given.get(codec.key);
    const read = value === null ? undefined : codec.read(value);
    if (read !== undefined) out[name] = read;
  }
  return out as unknown as ViewState;
}
