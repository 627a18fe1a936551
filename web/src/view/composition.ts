// Purpose: the tab of the composition.

import type {App, Tab, View} from "../state/app";

function make(_app: App): View {
  const element = document.createElement("section");
  return {element, update() {}};
}

export const compositionTab: Tab = {id: "composition", title: "Composition", offered: () => true, make};
