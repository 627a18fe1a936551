// Purpose: sizes and times have the digits of the text report.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {clipped, printable} from '../src/wording/printable';
import {
  count,
  duration,
  exact,
  fixed,
  gigabytes,
  inUnit,
  percent,
  signedInUnit,
  size,
  unitFor
} from '../src/wording/units';

const MIB = {
  name: 'MiB',
  bytes: 2 ** 20
} as const;

test('a tie goes to the even digit, as in the text report', () => {
  assert.equal(inUnit(128 * 1024, MIB), '0.12'); // 0.125
  assert.equal(inUnit(384 * 1024, MIB), '0.38'); // 0.375
  assert.equal(inUnit(-640 * 1024, MIB), '-0.62');
  assert.equal(fixed(2.5, 0), '2');
  assert.equal(fixed(3.5, 0), '4');
  assert.equal(fixed(0.25, 1), '0.2');
  assert.equal(fixed(1.005, 2), '1.00'); // the double is below 1.005: no tie
  assert.equal(fixed(13.0625, 3), '13.062');
});

test('zero has no sign', () => {
  assert.equal(inUnit(-4104, MIB), '0.00');
  assert.equal(signedInUnit(-4104, MIB), '0.00');
  assert.equal(signedInUnit(4104, MIB), '0.00');
  assert.equal(signedInUnit(484552908, MIB), '+462.11');
  assert.equal(signedInUnit(-113608, MIB), '-0.11');
});

test('sizes are in MiB below 4 GiB, else in GiB', () => {
  assert.equal(size(242276352), '231.05 MiB');
  assert.equal(size(4 * 2 ** 30 - 1), '4096.00 MiB');
  assert.equal(size(4 * 2 ** 30), '4.00 GiB');
  assert.equal(size(-5 * 2 ** 30), '-5.00 GiB');
  assert.equal(unitFor(9311424512).name, 'GiB');
  assert.equal(gigabytes(242276352), '242.28 MB');
  assert.equal(gigabytes(13.84e9), '13.84 GB');
});

test('times, counts and shares', () => {
  assert.equal(duration(0.00021), '210 us');
  assert.equal(duration(0.202), '202 ms');
  assert.equal(duration(27.293173573), '27.3 s');
  assert.equal(duration(250), '4 min 10 s');
  assert.equal(duration(179.7), '3 min 0 s');
  assert.equal(duration(18120), '5 h 2 min');
  assert.equal(duration(1524028), '17 d 15 h');
  assert.equal(count(60569088), '60,569,088');
  assert.equal(count(999), '999');
  assert.equal(exact(1), '1 byte');
  assert.equal(exact(1211386332), '1,211,386,332 bytes');
  assert.equal(percent(1, 3), '33.3');
  assert.equal(percent(1, 0), '');
  assert.equal(percent(-704512, 943718400), '-0.1');
});

test('names cannot turn the text around or hide', () => {
  assert.equal(printable('a\u202eb'), 'a\\u202eb');
  assert.equal(printable('x\u0000\u001b[31m'), 'x\\u0000\\u001b[31m');
  assert.equal(printable('\u200bforward'), '\\u200bforward');
  assert.equal(printable('<script>alert(1)</script>'), '<script>alert(1)</script>');
  assert.equal(printable('caf\u00e9 \u{1f600}'), 'caf\u00e9 \u{1f600}');
  assert.equal(printable('a\ud800b'), 'a\ufffdb');
  assert.equal(printable('\udc00b'), '\ufffdb');
});

test('a long name keeps its start and its end, and no half of a character', () => {
  const long = 's'.repeat(10_000) + 'end';
  assert.equal(clipped(long, 100).length, 100);
  assert.ok(clipped(long, 100).endsWith('end'));
  assert.equal(clipped('short', 100), 'short');
  assert.ok(!/[\ud800-\udbff](?![\udc00-\udfff])/.test(clipped('\u{1f600}'.repeat(200), 50)));
});
