// Purpose: the decoded page: its JSON, its names and its block of columns.

import {Block} from './block';
import {DamagedPage} from './damage';
import {inflate} from './inflate';
import type {Documents, PageInfo} from './page';
import {Strings} from './strings';

export interface PageData {
  readonly info: PageInfo;
  readonly documents: Documents;
  readonly strings: Strings;
  readonly block: Block;
}

const LISTS = ['roles', 'kinds', 'bands', 'processes'] as const;

function checked(value: unknown): PageInfo {
  const page = value as PageInfo | null;
  if (typeof page !== 'object' || page === null || LISTS.some((name) => !Array.isArray(page[name]))) {
    throw new DamagedPage('the description of the run is damaged');
  }
  if (page.processes.length === 0) throw new DamagedPage('the data has no process');
  return page;
}

/** Throws DamagedPage if the bytes are not a block of this format. */
export function decodeBlock(bytes: Uint8Array): PageData {
  const block = new Block(bytes);
  return {
    info: checked(block.json('page')),
    documents: block.json('documents') as Documents,
    strings: Strings.read(block),
    block
  };
}

export async function decode(text: string): Promise<PageData> { return decodeBlock(await inflate(text)); }
