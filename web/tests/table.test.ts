// Purpose: rows sort stably, and what is copied has exact figures and no extra cell.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {sorted} from '../src/table/sort';
import {cell, tsv} from '../src/table/tsv';

test('rows sort by numbers and by texts, stably, with empty cells last', () => {
  const rows = [{n: 2, k: 'a'}, {n: null, k: 'b'}, {n: 10, k: 'c'}, {n: 2, k: 'd'}];
  assert.deepEqual(sorted(rows, (row) => row.n, false).map((row) => row.k), ['a', 'd', 'c', 'b']);
  assert.deepEqual(sorted(rows, (row) => row.n, true).map((row) => row.k), ['c', 'a', 'd', 'b']);
  assert.deepEqual(sorted(['b', '', 'a'], (one) => one, false), ['a', 'b', '']);
  assert.deepEqual(sorted(['b', '', 'a'], (one) => one, true), ['b', 'a', '']);
});

test('a sort by the size of a change puts a fall before a smaller growth', () => {
  assert.deepEqual(sorted([3, -7, 5], (change) => Math.abs(change), true), [-7, 5, 3]);
});

test('the copied text has one line for each row and exact bytes', () => {
  assert.equal(
      tsv(['what', 'bytes'], [['gradient', 191938560], ['none', null]]),
      'what\tbytes\ngradient\t191938560\nnone\t\n');
});

test('a name cannot add cells or lines', () => {
  assert.equal(cell('a\tb\r\nc\u2028d'), 'a b c d');
});

test('a spreadsheet runs no name as a formula', () => {
  assert.equal(cell("=cmd|' /C calc'!A0"), "'=cmd|' /C calc'!A0");
  assert.equal(cell('@SUM(A1)'), "'@SUM(A1)");
  assert.equal(cell('-x'), "'-x");
  assert.equal(cell('-12.5'), '-12.5');
  assert.equal(cell(-12), '-12');
});
