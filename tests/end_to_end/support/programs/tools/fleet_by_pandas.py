"""Purpose: answers two questions to a fleet by pandas, from the JSON of a report.

usage: fleet_by_pandas.py REPORT

Prints the highest level of each phase by coordinate, and the ranks that hold more than their pipeline stage.
"""
import json
import sys

import pandas

MIB = 1 << 20
SHOWN = {"step": "update"}  # the name that a reader sees


def frames(report):
    levels, ranks = [], []
    for process in report["processes"]:
        place = {"rank": process["rank"], **process["coordinates"]}
        for phase in process["phases"]:
            if phase["memory"] == "host" and phase["count"] and phase["peak_live"]:
                levels.append({**place, "phase": SHOWN.get(phase["phase"], phase["phase"]), "bytes": phase["peak_live"]})
        live = next(peak for peak in process["peaks"] if (peak["memory"], peak["measure"]) == ("host", "live"))
        ranks.append({**place, "bytes": live["bytes"]})
    return pandas.DataFrame(levels), pandas.DataFrame(ranks)


def peaks(levels):
    levels = levels.groupby(["rank", "pp", "dp", "tp", "phase"], as_index=False)["bytes"].max()
    out = {}
    for axis in (None, "pp", "dp", "tp"):
        for key, group in levels.groupby(["phase"] if axis is None else ["phase", axis])["bytes"]:
            place = "all ranks" if axis is None else f"{axis} {key[1]}"
            out[f"{key[0]}, {place}"] = [len(group), int(group.median()), int(group.max())]
    return out


def outliers(ranks):
    stage = ranks.groupby("pp")["bytes"].transform("median")
    more = ranks["bytes"] - stage
    return sorted(int(rank) for rank in ranks[(more.abs() >= 64 * MIB) & (more.abs() >= stage / 10)]["rank"])


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        levels, ranks = frames(json.load(file))
    print(json.dumps({"peaks": peaks(levels), "outliers": outliers(ranks)}))


if __name__ == "__main__":
    main()
