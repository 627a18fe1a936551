// Purpose: the tab with the keys, and with what the words of the page mean.

import type {App, Tab, View} from '../state/app';
import {element} from '../dom/element';

const KEYS: readonly(readonly[string, string, string])[] = [
  ['W S, + \u2212', 'zoom about the cursor', 'wheel over the plot; Ctrl+wheel or pinch, too'],
  ['A D', 'move; with Shift: further', 'drag; Shift+wheel'], ['\u2190 \u2192', 'move', ''],
  ['Shift+\u2190 \u2192', 'select a stretch of time', 'drag on the axis, or with Shift'],
  ['Enter', 'pick the instant at the cursor', 'click'],
  [', .', 'the instant one event back or on; < > 20 of them', ''],
  ['Esc', 'clear the selection and the search', ''],
  ['[ ]', 'previous, next step', 'click on the strip of steps'], ['{ }', 'previous, next edge of a phase', ''],
  ['p P', 'next, previous local peak', ''], ['f F', 'next, previous finding', 'click on a flag'],
  ['m, then 1 to 9', 'set a mark, or go to it', ''],
  ['z, Backspace, 0', 'zoom to the selection, back, all', 'double click'],
  [
    '\u2190 \u2191 \u2192 \u2193', 'in the flame graph: siblings, parent, child; Enter focuses, Esc leaves',
    'click, double click'
  ],
  ['/, n N', 'search; next, previous match', ''],
  ['1 to 9', 'the first nine tabs, if m was not pressed before', 'click'],
  [
    'l', 'the legend; there \u2190 \u2192 walk, h hides a role, s shows it alone',
    'click in the legend, Alt+click'
  ],
  ['h', 'show all roles again', ''], ['t', 'table of the view', 'button Table'], ['?', 'this page', '']
];

const WORDS: readonly(readonly[string, string])[] = [
  [
    'all allocations',
    'Bytes that the program allocated and did not free, tensors included, as the allocator gave them. File ' +
        'mappings, and mappings without access, are not in it.'
  ],
  ['tensors', 'Bytes that PyTorch\u2019s allocators were asked for. Exact for every tensor.'],
  [
    'resident',
    'Bytes in physical memory, by the kernel. Memory that was allocated and never touched is not ' +
        'resident. Freed memory that the allocator keeps is.'
  ],
  ['P', 'The number of parameters of the model.'],
  ['kept', 'What a phase adds: the level at its exit less that at its entry.'],
  ['temporary', 'What a phase needs besides: its peak less the larger of entry and exit.'],
  ['update', 'The phase in which the optimizer runs. A step is a whole iteration of training.'],
  ['typical', 'The median of the steps that are alike.'],
  [
    'sampled',
    'Small blocks are counted exactly, and their stacks are sampled. The figure after ' +
        '\u00b1 is half of the interval that holds the truth in 95 of 100 cases.'
  ],
  ['your line', 'The innermost Python line that belongs to no library.'],
  ['runtime', 'Blocks that are not tensors: libraries, the interpreter, arrays of numpy and pandas.'],
  ['unattributed', 'Tensors without a role, and small blocks that were not recorded one by one.'],
  ['reserved', 'Address space that was reserved and never touched. It takes no memory, so it is hidden at first.'],
  ['cache', 'What PyTorch\u2019s allocator holds of a GPU and no tensor uses.'],
  ['births', 'How many blocks were allocated: the darker, the more in a pixel.'],
  ['raw data', 'Where the page has every event. Elsewhere it has the highest level of many events.'],
  ['MiB, GiB', '2^20 and 2^30 bytes. The title of each figure has the exact bytes.']
];

function make(_app: App): View {
  const rows = KEYS.map(([key, what, pointer]) => element('tr', {}, [
                          element('th', {attributes: {scope: 'row'}}, [element('kbd', {text: key})]),
                          element('td', {text: what}), element('td', {text: pointer})
                        ]));
  const head = element('thead', {}, [element('tr', {}, [
                         'key', 'effect', 'pointer'
                       ].map((one) => element('th', {text: one, attributes: {scope: 'col'}})))]);
  const keys = element(
      'table', {attributes: {id: 'keys'}},
      [element('caption', {text: 'Keys and pointer'}), head, element('tbody', {}, rows)]);
  const words = element(
      'dl', {class: 'words'},
      WORDS.flatMap(([word, means]) => [element('dt', {text: word}), element('dd', {text: means})]));
  const link = element('p', {
    text: 'The address of the page holds the tab, the stretch of time, the instant, the search and the ' +
        'selection. Back works, and you can paste the link into a bug report.'
  });
  return {
    element: element(
        'section', {class: 'document help'},
        [
          element(
              'section', {class: 'card'},
              [element('h2', {text: 'Keys'}), element('div', {class: 'table'}, [keys])]),
          element('section', {class: 'card'}, [element('h2', {text: 'Words'}), words]),
          element('section', {class: 'card'}, [element('h2', {text: 'Links'}), link])
        ]),
    update() {}
  };
}

export const helpTab: Tab = {
  id: 'help',
  title: 'Help',
  offered: () => true,
  make
};
