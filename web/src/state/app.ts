// Purpose: the app that every view gets: the data, the state, and the one way to change the state.

import type {PageData} from '../format/decode';
import type {Documents} from '../format/page';
import type {ViewState} from './view_state';

export type{PageData} from '../format/decode';
export type{Documents} from '../format/page';
export type{ViewState} from './view_state';

/** How a change enters the history: at once, or when a drag or a series of keys has come to rest. */
export type Pace = 'step'|'drag';

export interface App {
  readonly page: PageData;
  readonly documents: Documents;
  readonly state: ViewState;
  go(change: Partial<ViewState>, pace?: Pace): void;
  /** Draws again without a change of state, as after a change of size or theme. */
  redraw(): void;
  /** Says a text to screen readers, politely and at most twice a second. */
  announce(text: string): void;
}

export interface View {
  readonly element: HTMLElement;
  /** Called before a frame is painted, only while the view is shown. */
  update(state: ViewState): void;
  /** Handles a key that no control took; true if it did. */
  key?(event: KeyboardEvent): boolean;
}

export interface Tab {
  /** The name in the fragment. */
  readonly id: string;
  readonly title: string;
  /** False if the data has nothing for this tab. */
  offered(page: PageData): boolean;
  make(app: App): View;
}
