// Purpose: the tabs of the page, in order. A view of the documents is added here.

import type {Tab} from "../state/app";
import {compositionTab} from "./composition";
import {timelineTab} from "./timeline";

export const TABS: readonly Tab[] = [timelineTab, compositionTab];
