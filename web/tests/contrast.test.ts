// Purpose: the colours of both themes reach their contrast and stay apart, also for readers with a colour
// deficiency. The ratios are those of WCAG 2, the deficiencies those of Machado, Oliveira and Fernandes (2009)
// at full severity.

import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {test} from 'node:test';

type Colour = readonly[number, number, number]; // linear light, 0 to 1
type Matrix = readonly[Colour, Colour, Colour];
type Theme = Record<string, string>;

const BANDS = [
  'parameter', 'gradient', 'optimizer-state', 'activation', 'temporary', 'communication', 'input', 'runtime',
  'context', 'cache', 'unattributed'
];
// `reserved` has the colour of `cache`, with another hatch: a lane shows one of both.
const HATCHED = new Set(['context', 'cache', 'unattributed']);

const DEFICIENCIES: Record<string, Matrix> = {
  normal: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protan: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deutan: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritan: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]]
};

function linear(hex: string): Colour {
  const of = (at: number) => {
    const value = parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return [of(1), of(3), of(5)];
}

function luminance([r, g, b]: Colour): number { return 0.2126 * r + 0.7152 * g + 0.0722 * b; }

function ratio(a: string, b: string): number {
  const x = luminance(linear(a)), y = luminance(linear(b));
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

function times(matrix: Matrix, [r, g, b]: Colour): Colour {
  const row = ([x, y, z]: Colour) => Math.min(1, Math.max(0, x * r + y * g + z * b));
  return [row(matrix[0]), row(matrix[1]), row(matrix[2])];
}

function oklab([r, g, b]: Colour): Colour {
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s, 0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s
  ];
}

/** Returns the distance in OKLab, times 100, as a reader with the deficiency sees it. */
function distance(a: string, b: string, deficiency: string): number {
  const [x, y] = [a, b].map((one) => oklab(times(DEFICIENCIES[deficiency], linear(one))));
  return 100 * Math.hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]);
}

/** Returns the variables that the rules with this selector set. */
function variables(css: string, selector: string): Theme {
  const out: Theme = {};
  const start = css.indexOf(selector + ' {');
  assert.ok(start >= 0, `no rule ${selector}`);
  for (const [, name, value] of css.slice(start, css.indexOf('}', start))
           .matchAll(/--([\w-]+):\s*(#[0-9a-f]{6});/g))
    out[name] = value;
  return out;
}

const css = readFileSync('../theme/colours.css', 'utf8');
const light = variables(css, '\n:root');
const dark = variables(css, ':root[data-theme="dark"]');
const themes: readonly[string, Theme, string][] = [['light', light, '#ffffff'], ['dark', dark, '#15181d']];

test('the switch and the system give the same dark theme, and paper the light one', () => {
  assert.deepEqual(variables(css, ':root:not([data-theme="light"])'), dark);
  const print = css.slice(css.indexOf('@media print'));
  assert.deepEqual(variables(print, ':root[data-theme="dark"]'), light);
  assert.deepEqual(Object.keys(dark).sort(), Object.keys(light).sort());
});

test('every role reaches 3:1 against the background and 4.5:1 with its label', () => {
  for (const [name, theme, background] of themes) {
    assert.equal(theme.background, background);
    for (const band of BANDS) {
      const colour = theme[`band-${band}`], label = theme[`band-${band}-label`];
      assert.ok(ratio(colour, background) >= 3, `${name} ${band}: ${ratio(colour, background)}`);
      assert.ok(ratio(colour, label) >= 4.5, `${name} ${band} label: ${ratio(colour, label)}`);
    }
  }
});

test('the roles stay apart under all deficiencies, neighbours in the stack more so', () => {
  for (const [name, theme, least, neighbours] of [['light', light, 8.05, 8.85], ['dark', dark, 9.65, 15.75]] as
       const) {
    for (const deficiency of Object.keys(DEFICIENCIES)) {
      for (let i = 0; i < BANDS.length; ++i) {
        for (let j = i + 1; j < BANDS.length; ++j) {
          const apart = distance(theme[`band-${BANDS[i]}`], theme[`band-${BANDS[j]}`], deficiency);
          const pair = `${name}, ${deficiency}: ${BANDS[i]} and ${BANDS[j]} are ${apart.toFixed(1)} apart`;
          assert.ok(apart >= least, pair);
          // Hatches tell the neutral ones apart.
          if (j === i + 1 && !HATCHED.has(BANDS[j]) && deficiency === 'normal')
            assert.ok(apart >= neighbours, pair);
        }
      }
    }
  }
});

test('text, focus, limits and axes reach their ratios', () => {
  for (const [name, theme, background] of themes) {
    const at_least = (of: string, least: number, on = background) =>
        assert.ok(ratio(theme[of], on) >= least, `${name} ${of}: ${ratio(theme[of], on)}`);
    at_least('text', 15);
    for (const on of [background, theme.surface, theme.hover]) {
      at_least('muted', 4.5, on);
      at_least('text', 7, on);
      at_least('limit', 4.5, on);
      at_least('focus', 4.5, on);
    }
    at_least('axis', 3);
    at_least('plain-bar', 3);
    at_least('plain-bar', 3, theme.surface);
    at_least('grew', 4.5, theme.surface);
    at_least('shrank', 4.5, theme.surface);
  }
});

test('growth and shrinkage stay apart under all deficiencies', () => {
  for (const [name, theme] of themes)
    for (const deficiency of Object.keys(DEFICIENCIES)) {
      const apart = distance(theme.grew, theme.shrank, deficiency);
      assert.ok(apart >= 19, `${name}, ${deficiency}: ${apart}`);
    }
});
