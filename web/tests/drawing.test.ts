// Purpose: what a frame draws and reads: a pan moves what is there, and no row is missed or read twice.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import type {Palette} from '../src/draw/palette';
import type {ViewState} from '../src/state/app';
import {ColumnRows} from '../src/store/column_rows';
import {Columns, LaneColumns} from '../src/store/columns';
import type {ProcessStore} from '../src/store/process_store';
import {type Extreme, LEAF, RowLevels} from '../src/store/row_levels';
import {lowerBound, lowerNear} from '../src/store/search_sorted';
import type {Tables} from '../src/store/tables';
import {StackImage} from '../src/timeline/stack_image';

import {LANE_COUNT, type Made, random} from './made';
import {Random} from './random';
import {BANDS} from './trace';

class Image {
  readonly data: Uint8ClampedArray;
  constructor(readonly width: number, readonly height: number) {
    this.data = new Uint8ClampedArray(4 * width * height);
  }
}
Object.assign(globalThis, {ImageData: Image});

test('a search from any place near or far finds what a search of the whole column finds', () => {
  const dice = new Random(3);
  for (let round = 0; round < 500; round++) {
    const column = Array.from({length: 1 + dice.below(80)}, () => dice.below(60)).sort((a, b) => a - b);
    const from = dice.below(column.length), to = from + dice.below(column.length - from + 1);
    const value = dice.below(62), near = dice.below(column.length + 1);
    assert.equal(lowerNear(column, value, near, from, to), lowerBound(column, value, from, to));
  }
});

test('columns of a window share its rows without a gap, off by less than a leaf', () => {
  const dice = new Random(4);
  let coarse = 0;
  for (let round = 0; round < 60; round++) {
    const rows = 5000 + dice.below(20000), first = dice.below(100), time = new Float64Array(first + rows);
    for (let i = 0, t = 0; i < time.length; i++)
      time[i] = t += dice.below(20) === 0 ? dice.below(30000) : dice.below(3);
    const window = {from: time[first], to: time[time.length - 1], first, rows};
    const made = new ColumnRows({info: {windows: [window]}, row: {time}} as unknown as Tables);
    const count = 1 + dice.below(60), span = (window.to - window.from) * (0.1 + 0.9 * dice.next());
    const width = span / count;
    const start = window.from + dice.next() * (window.to - window.from - span);
    made.find(start, width, 0, count);
    let end = -1;
    for (let c = 0; c < count; c++) {
      if (made.window[c] < 0) continue;
      if (end >= 0) assert.equal(made.from[c], end, `round ${round} column ${c}`);
      end = made.to[c];
      const exact = lowerBound(time, start + (c + 1) * width, first, first + rows);
      assert.ok(end === exact || (end > exact && end < exact + LEAF), `round ${round} column ${c}: ${end} ${exact}`);
      if (end !== exact) {
        assert.ok(end - made.from[c] >= 8 * LEAF);
        coarse++;
      }
    }
  }
  assert.ok(coarse > 500, `${coarse} columns end with a leaf`);
});

test('any range of rows has the highest and the lowest value of its rows', () => {
  const dice = new Random(6), first = 7, rows = 9000;
  const values = Float64Array.from({length: first + rows}, () => dice.below(5000));
  const levels = new RowLevels(values, first, rows), found: Extreme = {row: -1, highest: 0, lowest: 0};
  for (let leaf = 0; leaf < levels.best.length; leaf++) levels.take(leaf);
  for (let round = 0; round < 400; round++) {
    const from = first + dice.below(rows), most = round % 2 === 0 ? 300 : rows;
    const to = Math.min(first + rows, from + 1 + dice.below(most));
    levels.query(from, to, found);
    const range = [...values.slice(from, to)];
    assert.equal(found.highest, Math.max(...range));
    assert.equal(found.lowest, Math.min(...range));
    assert.equal(found.row, from + range.indexOf(found.highest));
  }
});

test('rows replayed in parts give the same columns', () => {
  for (let seed = 1; seed <= 10; seed++) {
    const made = random(seed), width = made.tables.info.end / 50;
    for (let lane = 0; lane < LANE_COUNT; lane++) {
      const hidden = new Random(seed).below(1 << BANDS.length), whole = new LaneColumns(made.tables, lane, hidden);
      const parts = new LaneColumns(made.tables, lane, hidden, false);
      let calls = 0;
      while (!parts.advance(40)) calls++;
      const a = new Columns(50, BANDS.length), b = new Columns(50, BANDS.length);
      whole.fill(0, width, a);
      parts.fill(0, width, b);
      assert.deepEqual(b, a);
      assert.ok(calls > 1 || made.tables.row.time.length < 200, `${calls} calls`);
    }
  }
});

const WIDTH = 120, HEIGHT = 60;

function palette(): Palette {
  const colours = Uint32Array.from(BANDS, (_, b) => 0xff000000 + 0x10101 * b);
  return {
    background: '#ffffff',
    pixelBackground: 0xffffffff,
    pixelText: 0xff000001,
    pixelUnknown: 0xff000002,
    pixelFloor: 0xff000003,
    pixel: colours,
    hatch: colours.map((one) => one + 5),
    pattern: Uint8Array.from(BANDS, (_, b) => b % 4)
  } as unknown as Palette;
}

/** Draws two lanes, each with a line whose steps have the width of a few columns. */
function draw(image: StackImage, made: Made, from: number, to: number): Uint32Array {
  const store = {tables: made.tables, columns: (lane: number) => new LaneColumns(made.tables, lane, 0)};
  const line = {name: '', columns: {at: (a: number) => 40 + 30 * Math.sin(a / made.tables.info.end * 90)}};
  const lane = {full: 100, lines: [line, line]};
  const boxes = [0, 1].map((i) => ({top: i * HEIGHT, height: HEIGHT, stride: WIDTH, lane}));
  const state = {process: 0, hidden: 0, from, to} as ViewState;
  image.draw(store as unknown as ProcessStore, boxes as never, WIDTH, 2 * HEIGHT, 1, state, palette());
  return new Uint32Array(image.image.data.slice().buffer);
}

test('a pan draws what a drawing from the start draws, and computes only the columns that come in', () => {
  for (let seed = 1; seed <= 8; seed++) {
    const made = random(seed), {end} = made.tables.info, grain = end / 4 / WIDTH;
    for (const shift of [8, -16, 24, 112, -120]) {
      const image = new StackImage(), start = end * 0.4, from = start + shift * grain;
      draw(image, made, start, start + WIDTH * grain);
      assert.equal(image.computed, WIDTH);
      const panned = draw(image, made, from, from + WIDTH * grain);
      assert.equal(image.computed, Math.min(WIDTH, Math.abs(shift)));
      const anew = draw(new StackImage(), made, from, from + WIDTH * grain);
      for (let i = 0; i < anew.length; i++) {
        if (panned[i] !== anew[i]) assert.ok(false, `seed ${seed} shift ${shift} x ${i % WIDTH}`);
      }
    }
  }
});
