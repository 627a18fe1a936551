// Purpose: the same answers as the views, for tests and the browser's console, as window.memtrace.

import {storeOf} from '../store/process_store';
import type {App, ViewState} from './app';

export interface Queries {
  state(): ViewState;
  go(change: Partial<ViewState>): void;
  /** Bytes by band at an instant in a lane of the shown process; null if no live blocks are known. */
  bands(lane: number, t: number): {level: number; exact: boolean; bands: Record<string, number>}|null;
  end(): number;
}

export function queries(app: App): Queries {
  const store = () => storeOf(app.page, app.state.process);
  return {
    state: () => app.state,
    go: (change) => app.go(change, 'drag'),
    end: () => store().info.end,
    bands(lane, t) {
      const composition = store().composition(lane, t);
      if (composition === null) return null;
      const bands: Record<string, number> = {};
      composition.bands.forEach((held, b) => (bands[store().tables.bands[b]] = held));
      return {level: composition.level, exact: composition.instant.exact, bands};
    }
  };
}
