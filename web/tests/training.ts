// Purpose: the made-up run of a transformer on one GPU: load, then steps of forward, backward and optimizer.

import {Random} from './random';
import {FRAME, type Trace, TraceMaker} from './trace';

export interface TrainingOptions {
  seed: number;
  steps: number;
  layers: number;
  /** Tensors of each layer and step. */
  tensors: number;
  /** Mean time between two events, and between two steps, ns. */
  wait: number;
  pause: number;
  hostile?: boolean;
}

const MIB = 2 ** 20;
const TORCH = '/usr/lib/python3/site-packages/torch/';
const OPS: readonly(readonly[string, string])[] = [
  ['linear', 'nn/modules/linear.py'], ['scaled_dot_product_attention', 'nn/functional.py'],
  ['gelu', 'nn/functional.py'], ['layer_norm', 'nn/functional.py'], ['dropout', 'nn/functional.py'],
  ['softmax', 'nn/functional.py'], ['matmul', '_tensor.py'], ['add', '_tensor.py']
];

interface Layer {
  parameter: number;
  gradient: number;
  moment: number;
  activations: number[];
  temporaries: number[];
}

function site(maker: TraceMaker, above: number, op: number): number {
  const [name, file] = OPS[op % OPS.length];
  const hidden = maker.node(above, '_PyEval_EvalFrameDefault', 'ceval.c', 0, FRAME.hidden);
  const module = maker.node(hidden, `${name}`, TORCH + file, 100 + op, FRAME.python);
  const dispatch = maker.node(module, 'c10::Dispatcher::call', 'libtorch_cpu.so', 0, FRAME.hidden);
  return maker.node(dispatch, `at::${name}_out_cuda`, 'libtorch_cuda.so', 0, 0);
}

function layer(
    maker: TraceMaker, forward: number, backward: number, index: number, options: TrainingOptions): Layer {
  const block = maker.node(forward, 'block', '/home/u/model.py', 40 + index, FRAME.python | FRAME.user);
  const grads =
      maker.node(backward, `${['Mm', 'Gelu', 'LayerNorm'][index % 3]}Backward0`, 'libtorch_cpu.so', 0, 0);
  const init = maker.node(1, 'Block.__init__', '/home/u/model.py', 12 + (index % 5), FRAME.python | FRAME.user);
  const update = maker.node(2, 'adamw.step', TORCH + 'optim/adamw.py', 188, FRAME.python);
  const tensor = {tensor: true};
  const size = 1 + maker.random.below(6);
  const group = (leaf: number, role: string, band: string, phase: string, bytes: number) =>
      maker.class(maker.group(leaf, role, band, phase, tensor), 1, 0, bytes);
  const activations: number[] = [], temporaries: number[] = [];
  for (let i = 0; i < options.tensors; i++) {
    const leaf = site(maker, block, i + index);
    activations.push(
        group(leaf, 'activation', 'activation', 'forward', (0.3 + maker.random.next() * size) * MIB | 0));
    temporaries.push(
        group(leaf, 'temporary', 'temporary', 'forward', (0.2 + maker.random.next() * 4) * MIB | 0));
  }
  return {
    parameter: group(init, 'parameter', 'parameter', 'load', size * 9 * MIB),
    gradient: group(grads, 'gradient', 'gradient', 'backward', size * 9 * MIB),
    moment: group(update, 'optimizer', 'optimizer state', 'optimizer', size * 18 * MIB),
    activations,
    temporaries
  };
}

/** Returns the trace; times in ns. */
export function training(options: TrainingOptions): Trace {
  const maker = new TraceMaker(new Random(options.seed));
  const {random} = maker, {wait} = options;
  const main = maker.node(
      0, options.hostile === true ? '<script>alert(1)</script>' : 'main', '/home/u/train.py', 41,
      FRAME.python | FRAME.user);
  const loop = maker.node(main, 'train_step', '/home/u/train.py', 88, FRAME.python | FRAME.user);
  const call =
      maker.node(loop, '_call_impl', TORCH + 'nn/modules/module.py', 1553, FRAME.python | FRAME.hidden);
  const name =
      options.hostile === true ? '<img src=x onerror=document.title=\'broken\'> \u202e\ud83d\udca5' : 'forward';
  const forward = maker.node(call, name, '/home/u/model.py', 71, FRAME.python | FRAME.user);
  const backward = maker.node(loop, 'backward', TORCH + 'autograd/__init__.py', 340, FRAME.python);
  const layers: Layer[] = [];
  for (let i = 0; i < options.layers; i++) layers.push(layer(maker, forward, backward, i, options));
  if (options.hostile === true) maker.node(forward, 'x'.repeat(10000), '\u0000\n\t</script>', 1, 0);

  const loader = maker.node(loop, '__next__', TORCH + 'utils/data/dataloader.py', 630, FRAME.python);
  const batch = maker.class(maker.group(loader, 'input', 'input', 'data', {}), 0, 48 * MIB, 48 * MIB);
  const library = maker.class(
      maker.group(maker.node(0, 'dlopen', 'ld-linux.so', 0, 0), 'unknown', 'runtime', 'load'), 0, 300 * MIB, 0);
  const sampled = maker.class(maker.group(loader, 'unknown', 'unattributed', 'data', {sampled: true}), 0, 3 * MIB, 0);
  const segment = maker.class(
      maker.group(maker.node(0, 'cudaMalloc', 'libtorch_cuda.so', 0, 0), 'unknown', 'cache', '', {kind: 3}), 1,
      160 * MIB, 0);
  const context = maker.class(maker.group(0, 'unknown', 'context', 'load'), 1, 500 * MIB, 0);

  maker.birth(library, wait);
  maker.birth(sampled, wait);
  maker.birth(context, wait * 50);
  let held = 0, reserved = 0;
  const take = (kind: number) => {
    held += maker.trace.class.tensor[kind];
    while (held > reserved) {
      maker.birth(segment, wait);
      reserved += 160 * MIB;
    }
    return maker.birth(kind, wait);
  };
  const drop = (born: number) => {
    held -= maker.trace.class.tensor[maker.trace.event[born]];
    maker.death(born, wait);
  };
  for (const one of layers) take(one.parameter);
  maker.phase(['load'], -1, 0);
  const gradients: number[] = [];
  for (let step = 0; step < options.steps; step++) {
    maker.now += random.wait(options.pause);
    const start = maker.now;
    const input = maker.birth(batch, wait);
    for (let i = 0; i < 4; i++) {
      maker.drift(random.below(2 * MIB) - 0.9 * MIB | 0);
      maker.tick(wait);
    }
    maker.phase(['step', 'data'], step, start);
    const from = maker.now, alive: number[][] = [];
    for (const one of layers) {
      const mine: number[] = [];
      one.activations.forEach((activation, i) => {
        const scratch = take(one.temporaries[i]);
        mine.push(take(activation));
        drop(scratch);
      });
      alive.push(mine);
    }
    maker.phase(['step', 'forward'], step, from);
    const turn = maker.now;
    for (let i = layers.length - 1; i >= 0; i--) {
      gradients.push(take(layers[i].gradient));
      for (const born of alive[i].reverse()) drop(born);
    }
    maker.phase(['step', 'backward'], step, turn);
    const last = maker.now;
    if (step === 0) layers.forEach((one) => take(one.moment));
    for (const born of gradients.splice(0)) drop(born);
    maker.death(input, wait);
    maker.phase(['step', 'optimizer'], step, last);
    maker.phase(['step'], step, start);
    maker.trace.step.number.push(step);
    maker.trace.step.start.push(start);
    maker.trace.step.end.push(maker.now);
  }
  sortPhases(maker.trace);
  return maker.trace;
}

function sortPhases(trace: Trace): void {
  const {phase} = trace;
  const order = phase.start.map((_, i) => i)
                    .sort((a, b) => phase.start[a] - phase.start[b] || phase.depth[a] - phase.depth[b]);
  for (const key of ['path', 'step', 'start', 'end', 'depth'] as const)
    phase[key] = order.map((i) => phase[key][i]);
}
