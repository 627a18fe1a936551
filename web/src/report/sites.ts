// Purpose: finds the frames of a site, and names it as the text report does: operator, line, the user's own
// line.

import {Frame, Process, Site} from './document';

export interface SiteNames {
  readonly own: string; // "train.py:35", the innermost Python line of the user's own code; "" if there is none
  readonly where: string;    // "torch/optim/adam.py:790", or a native function and its module
  readonly operator: string; // "torch._foreach_sqrt", or ""
  readonly imported: string; // "import of torch", if the user's line made Python import it; else ""
}

const BACKWARD = '(backward of this forward call)';
const IMPORTER = '<frozen importlib';
// Functions that every allocation goes through, so their names say nothing.
const PLUMBING = new RegExp(
    '^(operator new|malloc|calloc|realloc|posix_memalign|aligned_alloc|memtrace|mmap|__libc_|' +
    'std::|void\\* std::|' +
    '__gnu_cxx::|__[almt]san|__sanitizer|__interceptor_|c10::alloc_cpu|c10::cuda::CUDACachingAllocator::|' +
    'torch::unwind::|torch::CapturedTraceback::)');

/** Returns the frames of a site, innermost first; none if it is null or unknown. */
export function framesOf(process: Pick<Process, 'sites'>|null, site: Site|null|undefined): readonly Frame[] {
  if (site === null || site === undefined) return [];
  const known = process?.sites;
  const shared =
      known !== undefined && Object.prototype.hasOwnProperty.call(known, site.id) ? known[site.id] : undefined;
  return site.frames ?? shared?.frames ?? [];
}

function isImporter(frame: Frame): boolean { return frame.file.startsWith(IMPORTER); }

function baseName(path: string): string { return path.slice(path.lastIndexOf('/') + 1); }

/**
 * Returns a short form: "/x/lib/python3.11/site-packages/torch/nn/a.py" becomes "torch/nn/a.py". Elsewhere: the
 * file and its folder, which distinguish two files of the same name.
 */
export function shortPath(path: string): string {
  const library =
      /^.*\/(?:site|dist)-packages\/(.+)$/s.exec(path) ?? /\/lib(?:64)?\/python[^/]*\/(.+)$/s.exec(path);
  return library !== null ? library[1] : path.split('/').slice(-2).join('/').replace(/^\//, "");
}

function isScript(file: string, scripts: readonly string[]): boolean {
  return scripts.some((one) => file === one || file.endsWith('/' + one.replace(/^\.\//, "")));
}

function place(frame: Frame, scripts: readonly string[]): string {
  const file = isScript(frame.file, scripts) ? baseName(frame.file) : shortPath(frame.file);
  return `${file}:${frame.line}`;
}

// Returns "sqrt" for "at::_ops::sqrt::call(at::Tensor const&)", else "".
function operatorOf(name: string): string {
  const found = /^at::_ops::(.+?)::call\(/.exec(name);
  if (found === null) return '';
  return found[1].replace(/(?!^)_[A-Z].*$/, '').replace(/(.)_(memory_format|dim|int|dtype|low|out)$/, '$1');
}

// Operators call each other. Returns the one that the innermost Python frame called. In backward, it is that of
// the forward call.
function calledOperator(frames: readonly Frame[]): string {
  let name = '';
  let backward = false;
  for (const frame of frames) {
    if (frame.lang === 'python') break;
    if (frame.function === BACKWARD) {
      backward = true;
      name = '';
    }
    const operator = operatorOf(frame.function);
    if (operator !== '') name = 'torch.' + operator;
  }
  return backward ? (name === '' ? 'backward' : 'backward of ' + name) : name;
}

// Returns "fill at src/load.cpp:49" if the line is known, else "fill in load.so".
function nativePlace(frames: readonly Frame[]): string {
  if (frames.length === 0) return '';
  const frame = frames.find((one) => !PLUMBING.test(one.function)) ?? frames[0];
  const name = frame.function.replace(/(.)\((?!anonymous namespace\)).*$/s, '$1');
  if (frame.line !== 0) return `${name} at ${shortPath(frame.file)}:${frame.line}`;
  return frame.module === '' ? name : `${name} in ${baseName(frame.module)}`;
}

// Returns what the line `own` made Python import. Modules import others: the outermost is the one that the line
// caused.
function importOf(frames: readonly Frame[], own: Frame): string {
  let found = '';
  let outer: Frame|null = null;
  for (const frame of frames) {
    if (frame === own) break;
    if (frame.lang !== 'python') continue;
    if (isImporter(frame) && (outer === null || !isImporter(outer)))
      found = outer === null ? 'import' : 'import of ' + packageOf(shortPath(outer.file));
    outer = frame;
  }
  return found;
}

// Returns "torch" for "torch/_dynamo/utils.py" and "os" for "<frozen os>".
function packageOf(path: string): string { return path.replace(/^<frozen /, '').replace(/[/.>:].*$/s, ''); }

/** Returns the names of a site. `scripts`: the main scripts, as the command lines have them. */
export function namesOf(frames: readonly Frame[], scripts: readonly string[] = []): SiteNames {
  const python = frames.filter((frame) => frame.lang === 'python');
  const own = python.find((frame) => frame.own === true);
  const telling = python.find(
                      (frame) => !isImporter(frame) && !frame.file.includes('/torch/autograd/') &&
                          !frame.file.endsWith('/torch/_tensor.py')) ??
      python[0];
  return {
    own: own === undefined ? '' : place(own, scripts),
    where: telling === undefined ? nativePlace(frames) : place(telling, scripts),
    operator: calledOperator(frames),
    imported: own === undefined ? '' : importOf(frames, own),
  };
}

/** Returns "torch._foreach_sqrt, torch/optim/adam.py:790". */
export function titleOf(names: SiteNames): string {
  return names.operator === '' ? names.where : `${names.operator}, ${names.where}`;
}

/**
 * Returns what allocated, without what the user's line says: "torch._foreach_sqrt adam.py:790". All that an
 * import allocates is "import of torch": its modules are many, and their lines say little.
 */
export function allocatorOf(names: SiteNames): string {
  if (names.imported !== '') return names.imported;
  if (names.where === names.own) return names.operator;
  return names.operator === '' ? names.where : `${names.operator} ${baseName(names.where)}`;
}

/**
 * Returns what tensors of a phase `load` that did not end are, by what allocated them: "model", "state dict" or
 * "".
 */
export function ownerOf(frames: readonly Frame[]): string {
  for (const {file, function: name, lang, module} of frames) {
    if (name === BACKWARD) break;
    if (lang === 'native' && module.includes('_safetensors_rust')) return 'state dict';
    if (lang === 'native') continue;
    if (/torch\/(serialization|_weights_only_unpickler)\.py|\/safetensors\//.test(file)) return "state dict";
    if (/torch\/nn\/(modules\/|parameter\.py)/.test(file)) return 'model';
  }
  return '';
}

/** True for frames that are hidden unless asked: interpreter, dispatcher and allocator internals. */
export function isHidden(frame: Frame): boolean {
  return frame.lang === 'native' || frame.file.startsWith('<frozen');
}
