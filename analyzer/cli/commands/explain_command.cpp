// Purpose: `memtrace explain`.
#include "analyzer/cli/commands/explain_command.h"

#include "analyzer/cli/common/main_process.h"
#include "analyzer/print/json/explain_json.h"
#include "analyzer/print/text/explain_text.h"

namespace memtrace::cli {

int explain_command(const ExplainArguments& arguments) {
  return answer(arguments.output, [&](Meter& meter) {
    const auto analysis = main_view(arguments.trace, meter);
    const report::Explanation explanation =
        report::explain(*analysis, memory_of(*analysis, arguments.memory), arguments.parameters);
    return arguments.format == "json"
               ? report::json_text(report::explain_json(explanation, arguments.project)) + "\n"
               : report::explain_text(explanation, arguments.project, screen_of(arguments.output));
  });
}

} // namespace memtrace::cli
