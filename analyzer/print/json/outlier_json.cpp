// Purpose: writes a rank that holds more than the other ranks as JSON.
#include "analyzer/print/json/outlier_json.h"

namespace memtrace::report {

Json outlier_json(const Outlier& outlier) {
  return {{"rank", outlier.rank},
          {"pid", outlier.pid},
          {"memory", outlier.memory},
          {"bytes", outlier.bytes},
          {"phase", outlier.phase},
          {"step", step_json(outlier.step)},
          {"others",
           {{"count", outlier.others},
            {"least", outlier.least},
            {"median", outlier.median},
            {"most", outlier.most}}},
          {"row",
           {{"role", outlier.role},
            {"bytes", outlier.here},
            {"others", outlier.there},
            {"site", outlier.site ? site_json(*outlier.site) : Json(nullptr)}}}};
}

} // namespace memtrace::report
