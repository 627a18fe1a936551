// Purpose: the tab of the text report, which every page has as plain HTML.

import type {App, Tab, View} from '../state/app';
import {copy} from '../table/clipboard';
import {button, element} from '../dom/element';

function make(_app: App): View {
  const text = document.getElementById('text')?.textContent ?? '';
  const take = button('Copy the text', () => void copy(text).then((done) => {
    take.textContent = done ? 'Copied' : 'The browser does not allow the copy';
  }));
  const shown = element(
      'pre',
      {class: 'report-text', text, attributes: {tabindex: '0', role: 'region', 'aria-label': 'Text report'}});
  return {
    element: element('section', {class: 'document text'}, [element('div', {class: 'tools'}, [take]), shown]),
    update() {}
  };
}

export const textTab: Tab = {
  id: 'text',
  title: 'Text',
  offered: () => document.getElementById('text') !== null,
  make
};
