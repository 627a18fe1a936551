// Purpose: read the documents and the text of real runs, cut to a few rows. The cut rows are summed up in one.

import {readFileSync} from 'node:fs';

import {DiffDocument, ExplainDocument} from '../src/report/answers';
import {Process, ReportDocument} from '../src/report/document';

export interface Fixture {
  readonly report: ReportDocument;
  readonly postmortem: ReportDocument|null;
  readonly explain: ExplainDocument|null;
  readonly first_vs_steady: DiffDocument|null;
}

/**
 * `falcon`: a model of 60 million parameters, three steps of AdamW. `killed`: a load that the OOM killer
 * ended.
 */
export function fixture(name: 'falcon'|'killed'): Fixture {
  return JSON.parse(readFileSync(`fixtures/${name}.json`, 'utf8')) as Fixture;
}

/** What `memtrace report` and the other commands print of the same run, 160 columns wide. */
export function textOf(name: 'falcon'|'killed'): string { return readFileSync(`fixtures/${name}.txt`, 'utf8'); }

export function processOf(name: 'falcon'|'killed'): Process { return fixture(name).report.processes[0]; }
