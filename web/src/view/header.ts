// Purpose: the head of the page: the run and its peak.

import type {App, View} from "../state/app";

export function header(app: App): View {
  const element = document.createElement("header");
  element.className = "head";
  const title = document.createElement("h1");
  element.append(title);
  return {
    element,
    update(state) {
      title.textContent = app.page.info.processes[state.process].name;
    }
  };
}
