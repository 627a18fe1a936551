// Purpose: write synthetic pages, with the documents of a real run beside a made-up trace.
// usage: generate.js KIND SCRIPT STYLE DOCUMENTS OUT, with KIND of KINDS below.

import {readFileSync, writeFileSync} from 'node:fs';

import {assemble} from './encoder';

import {type WriteOptions, writePage} from './page_writer';
import type {Trace} from './trace';
import {training, type TrainingOptions} from './training';

const SMALL: TrainingOptions = {
  seed: 1,
  steps: 6,
  layers: 12,
  tensors: 8,
  wait: 20_000,
  pause: 10_000_000
};

function whole(trace: Trace, bins: number): WriteOptions {
  return {bins, windows: [{from: 0, to: trace.time.length, why: 'the whole run'}], keyframes: []};
}

/** First step, one steady step and the end; keyframes elsewhere. */
function parts(trace: Trace, bins: number): WriteOptions {
  const event = (t: number) => trace.time.findIndex((one) => one >= t);
  const {start} = trace.step, middle = Math.floor(start.length / 2), events = trace.time.length;
  const windows = [
    {from: event(start[0]), to: event(start[1]), why: 'first step'},
    {from: event(start[middle]), to: event(start[middle + 1]), why: 'a steady step'},
    {from: event(start[start.length - 1]), to: events, why: 'the last step'}
  ];
  const keyframes: number[] = [];
  for (let i = 1; i < 12; i++) keyframes.push(Math.floor(events * i / 12));
  const inside = (at: number) => windows.some((one) => at > one.from && at <= one.to);
  return {bins, windows, keyframes: keyframes.filter((at) => !inside(at))};
}

const WEEK = 7 * 86400e9;
const KINDS: Record<string, () => [Trace, WriteOptions]> = {
  small: () => {
    const trace = training(SMALL);
    return [trace, whole(trace, 4096)];
  },
  windows: () => {
    const trace = training({...SMALL, steps: 60, layers: 24});
    return [trace, parts(trace, 600)];
  },
  million: () => {
    const trace = training({seed: 2, steps: 312, layers: 48, tensors: 16, wait: 20_000, pause: 30_000_000});
    const options = whole(trace, 16384);
    return [
      trace,
      {...options, windows: [{from: 0, to: Math.min(1_000_000, trace.time.length), why: 'the whole run'}]}
    ];
  },
  week: () => {
    const trace = training({...SMALL, seed: 3, steps: 2000, pause: WEEK / 2000});
    return [trace, parts(trace, 16384)];
  },
  hostile: () => {
    const trace = training({...SMALL, steps: 3, hostile: true});
    return [trace, {...whole(trace, 512), name: '<b>train</b> \u202e.py'}];
  }
};

const [kind, script, style, documents, out] = process.argv.slice(2);
const made = KINDS[kind.replace(/^(cut|version|inject)-/, '')]();
const mode = kind.split('-')[0];
const block =
    writePage(made[0], {...made[1], documents: JSON.parse(readFileSync(documents, 'utf8')) as unknown});
writeFileSync(
    out, assemble({
      block: mode === 'version' ? new TextEncoder().encode('\u0002\u0000\u0000\u0000{}') : block,
      script: readFileSync(script, 'utf8'),
      style: readFileSync(style, 'utf8'),
      title: 'train.py',
      text:
          'memtrace 0.1.0: train.py\n\nMost memory: 4.12 GiB of tensors on cuda:0 at 1.2 s, in step 3, backward <b>\n',
      spoil: mode === 'cut' ? (data) => data.slice(0, data.length >> 1) : undefined,
      inject: mode === 'inject' ?
          '<img src=x onerror="document.title=\'broken\'"><script>document.title=\'broken\'</script>' :
          undefined
    }));
