// Purpose: the block is decoded as it was written, and a damaged one is rejected with a reason.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {Block} from '../src/format/block';
import {DamagedPage} from '../src/format/damage';
import {decodeBlock} from '../src/format/decode';
import {inflate} from '../src/format/inflate';
import {readTables} from '../src/store/tables';

import {BlockWriter} from './encoder';
import {random} from './made';
import {writePage} from './page_writer';
import {Random} from './random';

test('columns come back as they were written', () => {
  const values = [0, -1, 2 ** 52, -(2 ** 52), 255, 256, 4294967295, 4294967296, -4294967297];
  const words = [0, 1, 4294967295, 7, 65536];
  const out = new BlockWriter();
  for (const delta of [false, true]) {
    out.add(`i64.${delta}`, 'i64', values, delta);
    out.add(`u32.${delta}`, 'u32', words, delta);
    out.add(`u8.${delta}`, 'u8', [1, 255, 0, 7], delta);
  }
  out.json('text', {name: '\u00e9\u{1f4a5}'});
  const block = new Block(out.bytes());
  for (const delta of [false, true]) {
    assert.deepEqual([...block.i64(`i64.${delta}`)], values);
    assert.deepEqual([...block.u32(`u32.${delta}`)], words);
    assert.deepEqual([...block.u8(`u8.${delta}`)], [1, 255, 0, 7]);
  }
  assert.deepEqual(block.json('text'), {name: '\u00e9\u{1f4a5}'});
});

test('a block of another format, or a missing section, has a clear message', () => {
  const out = new BlockWriter();
  assert.throws(() => new Block(out.bytes('memtrace.page/2')), /not of the format memtrace.page\/1/);
  const block = new Block(out.bytes());
  assert.throws(() => block.u32('p0.tree.parent'), /section p0.tree.parent is missing/);
  assert.throws(() => new Block(new Uint8Array(3)), /cut off/);
});

test('a cut block is rejected at every length', () => {
  const whole = writePage(random(3).trace, {bins: 8, windows: [], keyframes: []});
  for (let size = 0; size < whole.length; size += 97) {
    assert.throws(() => {
      const page = decodeBlock(whole.slice(0, size));
      readTables(page.block, page.info, 0);
    }, /./);
  }
});

test('changed bytes are rejected with a reason, or read; they never end in another error', () => {
  const random7 = new Random(7), made = random(7);
  const whole = writePage(made.trace, made.options);
  for (let round = 0; round < 300; round++) {
    const changed = whole.slice();
    for (let i = 0; i < 4; i++) changed[random7.below(changed.length)] = random7.below(256);
    try {
      const page = decodeBlock(changed);
      for (const one of page.info.processes) assert.ok(one !== undefined);
      readTables(page.block, page.info, 0);
    } catch (error) {
      assert.ok(error instanceof DamagedPage, `round ${round}: ${error}`);
    }
  }
});

test('text that is not gzip is rejected', async () => {
  await assert.rejects(inflate('AAAA'), /cut off or changed/);
  await assert.rejects(inflate('%%%'), /cut off or changed/);
});
