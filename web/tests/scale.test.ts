// Purpose: bytes and times in words.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {bytes} from '../src/scale/bytes';
import {duration, instant} from '../src/scale/time';

test('bytes have a unit and at most four figures', () => {
  assert.equal(bytes(0), '0 B');
  assert.equal(bytes(1536), '1.50 KiB');
  assert.equal(bytes(-3 * 2 ** 30), '\u22123072.0 MiB');
  assert.equal(bytes(5 * 2 ** 30), '5.00 GiB');
  assert.equal(bytes(10.125 * 2 ** 20), '10.12 MiB'); // a tie: as in the report
  assert.equal(bytes(2 ** 20 - 1), '1.00 MiB');
});

test('times have the unit that fits', () => {
  assert.equal(duration(1500), '1.5 \u00b5s');
  assert.equal(duration(72 * 60e9), '1 h 12 min');
  assert.equal(instant(12_131_207_000, 1000), '12.131207 s');
});
