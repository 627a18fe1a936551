// Purpose: the options of `memtrace fleet`.
#include <iterator>
#include <memory>

#include "analyzer/cli/options/shared_options.h"
#include "analyzer/cli/options/subcommands.h"

namespace memtrace::cli {

void add_fleet(CLI::App& app, const std::function<void(const FleetArguments&)>& parsed) {
  const auto arguments = std::make_shared<FleetArguments>();
  const std::vector<std::string> engines(std::begin(kFleetEngines), std::end(kFleetEngines));
  CLI::App* const command = app.add_subcommand(
      "fleet", "run SQL queries on exported figures of many ranks and jobs: outliers, leaks, hosts, waste");
  command->add_option("QUERY", arguments->query, "a query of --list, or a file of SQL that ends in .sql")
      ->type_name("");
  command
      ->add_option("DIR", arguments->directories,
                   "directories that export --to parquet wrote, or addresses that the engine knows, such as "
                   "s3://BUCKET (fleet)")
      ->type_name("");
  command->add_flag("--list", arguments->list, "list the queries and their purposes");
  command->add_option("--engine", arguments->engine, "duckdb runs here, spark also on a cluster (duckdb)")
      ->type_name(CLI::detail::join(engines, "|"))
      ->check(CLI::IsMember(engines).description(""));
  command
      ->add_option("--master", arguments->master,
                   "cluster of Spark, such as yarn (that of Spark's settings, else local)")
      ->type_name("URL");
  command->add_option("--job", arguments->jobs, "only this job; may be repeated")
      ->type_name("JOB")
      ->allow_extra_args(false);
  add_format(*command, arguments->format, {"text", "json", "csv"});
  command->add_option("--rows", arguments->rows, "rows of text at most (40)")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 20).description(""));
  command
      ->add_option("--python", arguments->python,
                   "Python that has duckdb or pyspark (that of the wheel, else python3)")
      ->type_name("FILE")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  command->callback([arguments, parsed] { parsed(*arguments); });
}

} // namespace memtrace::cli
