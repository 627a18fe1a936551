// Purpose: the tabs of the page, in order. A view of the documents is added here.

import type {Tab} from "../state/app";
import {compositionTab} from "./composition";
import {diffTab} from "./diff";
import {explainTab} from "./explain";
import {findingsTab} from "./findings";
import {helpTab} from "./help";
import {ledgerTab} from "./ledger";
import {peaksTab} from "./peaks";
import {postmortemTab} from "./postmortem";
import {stepsTab} from "./steps";
import {textTab} from "./text";
import {timelineTab} from "./timeline";

export const TABS: readonly Tab[] = [
  findingsTab, postmortemTab, timelineTab, compositionTab, peaksTab, stepsTab, ledgerTab, explainTab, diffTab,
  textTab, helpTab
];
