// Purpose: columns, levels and replay against a slow reference that walks every event.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {Columns, LaneColumns} from '../src/store/columns';
import {compose} from '../src/store/composition';
import {Pyramid} from '../src/store/pyramid';
import {Replay} from '../src/store/replay';

import {LANE_COUNT, type Made, random} from './made';
import {LANES, Reference} from './page_writer';
import {Random} from './random';
import {BANDS} from './trace';

const SEEDS = Array.from({length: 25}, (_, i) => i + 1);

interface Walk {
  level: number[];
  bands: number[][];
}

/** Level and bands after each event. */
function walk(made: Made, lane: number): Walk {
  const reference = new Reference(made.trace, LANES[lane]), level: number[] = [], bands: number[][] = [];
  for (let i = 0; i < made.trace.time.length; i++) {
    reference.apply(i);
    level.push(reference.level);
    bands.push(reference.vector());
  }
  return {level, bands};
}

/** The events whose level holds somewhere in [a, b): those in it, and the last before it. */
function eventsOf(time: readonly number[], a: number, b: number): number[] {
  const out: number[] = [];
  for (let i = 0; i < time.length; i++) {
    if (time[i] < b && (time[i] >= a || i + 1 === time.length || time[i + 1] >= a)) out.push(i);
  }
  return out;
}

function shown(bands: readonly number[], hidden: number): number {
  return bands.reduce((sum, bytes, band) => sum + (((hidden >> band) & 1) === 0 ? bytes : 0), 0);
}

test('the pyramid finds the first highest and the lowest of any range', () => {
  const random5 = new Random(5);
  for (let round = 0; round < 200; round++) {
    const count = 1 + random5.below(600), high = new Float64Array(count), low = new Float64Array(count);
    for (let i = 0; i < count; i++) {
      high[i] = random5.below(40);
      low[i] = high[i] - random5.below(10);
    }
    const pyramid = new Pyramid(high, low), a = random5.below(count), b = a + random5.below(count - a + 1);
    pyramid.query(a, b);
    const range = [...high.slice(a, b)];
    assert.equal(pyramid.best, range.length === 0 ? -1 : a + range.indexOf(Math.max(...range)));
    assert.equal(pyramid.least, Math.min(...low.slice(a, b)));
  }
});

test('in windows every column has the highest and the lowest level, at every zoom', () => {
  let seen = 0;
  for (const seed of SEEDS) {
    const made = random(seed), {time} = made.trace, dice = new Random(seed * 31);
    for (let lane = 0; lane < LANE_COUNT; lane++) {
      const truth = walk(made, lane);
      for (const hidden of [0, 1 << dice.below(BANDS.length), dice.below(1 << BANDS.length)]) {
        const columns = new LaneColumns(made.tables, lane, hidden);
        for (const window of made.tables.info.windows) {
          const span = window.to - window.from;
          for (let zoom = 1; zoom < span; zoom *= 7) {
            const out = new Columns(12, BANDS.length), width = span / zoom / 12;
            const from = window.from + dice.next() * (span - span / zoom);
            columns.fill(from, width, out);
            for (let c = 0; c < 12; c++) {
              const a = from + c * width;
              if (columns.windowOf(a, a + width) < 0) continue;
              const events = eventsOf(time, a, a + width).map((i) => shown(truth.bands[i], hidden));
              const values = events.length > 0 ? events : [0];
              assert.ok(
                  Math.abs(out.highest[c] - Math.max(...values)) < 1,
                  `seed ${seed} lane ${lane} hidden ${hidden}`);
              assert.ok(Math.abs(out.lowest[c] - Math.min(...values)) < 1);
              seen++;
            }
          }
        }
      }
    }
  }
  assert.ok(seen > 2000, `${seen} columns`);
});

test('the bands of a column are those of the instant of its highest level', () => {
  for (const seed of SEEDS) {
    const made = random(seed), {time} = made.trace;
    for (let lane = 0; lane < LANE_COUNT; lane++) {
      const truth = walk(made, lane), columns = new LaneColumns(made.tables, lane, 0);
      const out = new Columns(40, BANDS.length), width = made.tables.info.end / 40;
      columns.fill(0, width, out);
      for (let c = 0; c < 40; c++) {
        const bands = [...out.bands.slice(c * out.stride, (c + 1) * out.stride)];
        const sum = bands.reduce((a, b) => a + b, 0);
        assert.ok(Math.abs(sum - out.highest[c]) < 1, `seed ${seed} lane ${lane} column ${c}: ${sum}`);
        const event = time.lastIndexOf(out.at[c]);
        if (event < 0 || out.at[c] === c * width) continue;
        const candidates =
            time.map((t, i) => [t, i]).filter(([t]) => t === out.at[c]).map(([, i]) => truth.bands[i].join());
        assert.ok(candidates.includes(bands.slice(0, -1).join()), `seed ${seed} lane ${lane} column ${c}`);
      }
    }
  }
});

test('every bin shows its highest level in the column where it occurred', () => {
  for (const seed of SEEDS) {
    const made = random(seed), {bin, lanes} = made.tables;
    for (let lane = 0; lane < LANE_COUNT; lane++) {
      const columns = new LaneColumns(made.tables, lane, 0), count = 30, width = made.tables.info.end / count;
      const out = new Columns(count + 1, BANDS.length);
      columns.fill(0, width, out);
      for (let i = 0; i < bin.start.length; i++) {
        const {max, at} = lanes[lane], c = Math.floor(at[i] / width);
        assert.ok(out.highest[c] >= max[i] - 1, `seed ${seed} lane ${lane} bin ${i}`);
      }
      const highest = Math.max(...lanes[lane].max);
      assert.equal(Math.max(...out.highest), highest);
    }
  }
});

test(
    'outside windows no column without a peak of its own claims bands above the lowest level of its bin',
    () => {
      for (const seed of SEEDS) {
        const made = random(seed), {time} = made.trace;
        for (let lane = 0; lane < LANE_COUNT; lane++) {
          const truth = walk(made, lane), columns = new LaneColumns(made.tables, lane, 0);
          const out = new Columns(200, BANDS.length), width = made.tables.info.end / 200;
          columns.fill(0, width, out);
          for (let c = 0; c < 200; c++) {
            const a = c * width, b = a + width;
            if (columns.windowOf(a, b) >= 0 || made.tables.lanes[lane].at.some((t) => t >= a && t < b))
              continue;
            const levels = eventsOf(time, a, b).map((i) => truth.level[i]);
            assert.ok(out.highest[c] >= Math.max(0, ...levels) - 1, `seed ${seed} lane ${lane} column ${c}`);
            const bands = out.bands.slice(c * out.stride, (c + 1) * out.stride - 1).reduce((x, y) => x + y, 0);
            assert.ok(bands <= Math.min(...levels, Infinity) + 1, `seed ${seed} lane ${lane} column ${c}`);
          }
        }
      }
    });

test('replay gives the live blocks of every instant in a window, in any order of visits', () => {
  for (const seed of SEEDS) {
    const made = random(seed), dice = new Random(seed), replay = new Replay(made.tables), {trace} = made;
    const {windows} = made.tables.info;
    if (windows.length === 0) continue;
    for (let round = 0; round < 30; round++) {
      const window = windows[dice.below(windows.length)];
      const t = window.from + Math.floor(dice.next() * (window.to - window.from + 1));
      const instant = replay.moveTo(t);
      const alive = new Array<number>(trace.class.group.length).fill(0);
      for (let i = 0; i < trace.time.length && trace.time[i] <= t; i++) {
        alive[trace.event[i]] += trace.event[i] === 0 ? 0 : trace.birth[i] < 0 ? 1 : -1;
      }
      assert.equal(instant?.exact, true);
      assert.deepEqual([...replay.counts].slice(1), alive.slice(1), `seed ${seed}`);
    }
  }
});

test('a composition sums to the level, in windows and at keyframes', () => {
  for (const seed of SEEDS) {
    const made = random(seed), dice = new Random(seed), replay = new Replay(made.tables), {time} = made.trace;
    for (let lane = 0; lane < LANE_COUNT; lane++) {
      const truth = walk(made, lane), columns = new LaneColumns(made.tables, lane, 0);
      for (let round = 0; round < 10; round++) {
        const made1 = compose(made.tables, columns, lane, replay, dice.next() * made.tables.info.end);
        if (made1 === null) continue;
        const groups = made1.bytes.reduce((a, b) => a + b, 0);
        assert.ok(Math.abs(groups + made1.rest - made1.level) < 1);
        const bands = made1.bands.reduce((a, b) => a + b, 0);
        assert.ok(Math.abs(bands - made1.level) < 1);
        const event = time.findIndex((t) => t > made1.instant.t);
        const last = event < 0 ? time.length - 1 : event - 1;
        if (made1.instant.exact) {
          assert.equal(made1.level, truth.level[last]);
          assert.deepEqual([...made1.bands], truth.bands[last]);
        }
      }
    }
  }
});
