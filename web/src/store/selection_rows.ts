// Purpose: the bytes that stacks through the selected frame hold after each row, for the line of the selection.

import type {LaneRules} from './lane_rules';
import {type Extreme, RowLevels} from './row_levels';
import {lowerBound} from './search_sorted';
import type {Tables} from './tables';

export class SelectionRows {
  private readonly values: Float64Array;
  private readonly windows: RowLevels[] = [];
  private readonly carried: number[] = [];
  private readonly found: Extreme = {row: -1, highest: 0, lowest: 0};

  /** `through` has 1 for each node of the tree whose stack has the selected frame. */
  constructor(private readonly tables: Tables, rules: LaneRules, through: Uint8Array) {
    const {class: table, group, row, set} = tables;
    const adds = new Float64Array(table.group.length);
    for (let i = 1; i < adds.length; i++)
      adds[i] = through[group.leaf[table.group[i]]] === 1 ? rules.inBand[i] : 0;
    this.values = new Float64Array(row.time.length);
    for (const window of tables.info.windows) {
      let total = 0;
      for (let i = set.start[window.set]; i < set.start[window.set + 1]; i++)
        total += adds[set.class[i]] * set.count[i];
      this.carried.push(total);
      for (let i = window.first; i < window.first + window.rows; i++) {
        total += row.ref[i] === 0 ? adds[row.class[i]] : -adds[row.class[i]];
        this.values[i] = total;
      }
      const levels = new RowLevels(this.values, window.first, window.rows);
      for (let leaf = 0; leaf < levels.best.length; leaf++) levels.take(leaf);
      this.windows.push(levels);
    }
  }

  /** The most that it held in [a, b) of a window. */
  highest(window: number, a: number, b: number): number {
    const {time} = this.tables.row, {first, rows} = this.tables.info.windows[window];
    const from = lowerBound(time, a, first, first + rows), to = lowerBound(time, b, from, first + rows);
    this.windows[window].query(from, to, this.found);
    return Math.max(this.found.highest, from > first ? this.values[from - 1] : this.carried[window]);
  }
}
