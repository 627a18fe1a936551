// Purpose: the tabs of the page, in order. A view of the documents is added here.

import type {Tab} from '../state/app';
import {compositionTab} from '../composition/pane';
import {diffTab} from '../documents/diff';
import {explainTab} from '../documents/explain';
import {findingsTab} from '../documents/findings';
import {helpTab} from './help';
import {ledgerTab} from '../documents/ledger';
import {peaksTab} from '../documents/peaks';
import {postmortemTab} from '../documents/postmortem';
import {stepsTab} from '../documents/steps';
import {textTab} from '../documents/text';
import {timelineTab} from '../timeline/timeline';

export const TABS: readonly Tab[] = [
  findingsTab, postmortemTab, timelineTab, compositionTab, peaksTab, stepsTab, ledgerTab, explainTab, diffTab,
  textTab, helpTab
];
