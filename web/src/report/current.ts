// Purpose: the documents of the page with their types, and the parts of them that are about one process.

import type {PageData} from '../format/decode';
import type {ProcessInfo} from '../format/page';
import {DiffDocument, ExplainDocument} from './answers';
import {Process, ReportDocument} from './document';
import {SiteNamer} from './holders';
import {sameProcess} from './levels';

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function withProcesses(value: unknown): ReportDocument|null {
  return isObject(value) && Array.isArray(value.processes) ? (value as unknown as ReportDocument) : null;
}

function withRows<T>(value: unknown): T|null {
  return isObject(value) && Array.isArray(value.rows) ? (value as unknown as T) : null;
}

export interface TypedDocuments {
  readonly report: ReportDocument|null;
  readonly postmortem: ReportDocument|null;
  readonly explain: ExplainDocument|null;
  readonly firstVsSteady: DiffDocument|null;
  readonly diff: DiffDocument|null;
}

/** Returns the documents that have the shape of their schema; null for the others. */
export function documentsOf(page: PageData): TypedDocuments {
  const all = page.documents;
  return {
    report: withProcesses(all.report),
    postmortem: withProcesses(all.postmortem),
    explain: withRows(all.explain),
    firstVsSteady: withRows(all.first_vs_steady),
    diff: withRows(all.diff)
  };
}

export interface Current {
  readonly index: number;
  readonly info: ProcessInfo;
  readonly report: Process|null;
  readonly postmortem: Process|null;
  /** Of `report`; null without it. */
  readonly namer: SiteNamer|null;
}

/** Returns what the page has about its process number `index`. */
export function currentOf(page: PageData, index: number): Current {
  const info = page.info.processes[index];
  const {report, postmortem} = documentsOf(page);
  const process = info.report === null ? null : report?.processes[info.report] ?? null;
  return {
    index,
    info,
    report: process,
    postmortem: sameProcess(postmortem, process),
    namer: process === null ? null : new SiteNamer(process)
  };
}

/** Returns true if a process of the page has a report; a page that compares two runs has none. */
export function hasReport(page: PageData): boolean {
  return page.info.processes.some((one) => one.report !== null) && documentsOf(page).report !== null;
}
