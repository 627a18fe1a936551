// Purpose: the tab of the timeline.

import type {App, Tab, View} from "../state/app";

function make(_app: App): View {
  const element = document.createElement("section");
  return {element, update() {}};
}

export const timelineTab: Tab = {id: "timeline", title: "Timeline", offered: () => true, make};
