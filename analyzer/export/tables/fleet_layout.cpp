// Purpose: the tables of a fleet, with the names and types of their columns. docs/export.md describes them.
#include "analyzer/export/tables/fleet_layout.h"

namespace memtrace::report {
namespace {

constexpr const char* kText = "string";
constexpr const char* kWhole = "int64";
constexpr const char* kReal = "double";
constexpr const char* kFlag = "bool";

constexpr FleetColumn kJobs[] = {
    {"attempt", kWhole}, {"launcher", kText}, {"world_size", kWhole}, {"schema", kText}};
constexpr FleetColumn kProcesses[] = {
    {"process", kText},      {"pid", kWhole},          {"ppid", kWhole},       {"host", kText},
    {"exe", kText},          {"argv", kText},          {"kind", kText},        {"local_rank", kWhole},
    {"dp", kWhole},          {"tp", kWhole},           {"pp", kWhole},         {"ep", kWhole},
    {"start_unix", kReal},   {"duration", kReal},      {"end_how", kText},     {"end_code", kWhole},
    {"parameters", kWhole},  {"trace_bytes", kWhole},  {"events", kWhole},     {"lost_events", kWhole},
    {"host_memory", kWhole}, {"host_cache", kWhole},   {"host_shmem", kWhole}, {"cgroup_limit", kWhole},
    {"device_name", kText},  {"device_memory", kWhole}};
constexpr FleetColumn kPhases[] = {
    {"process", kText},       {"memory", kText},       {"path", kText},         {"phase", kText},
    {"step", kWhole},         {"steady", kFlag},       {"count", kWhole},       {"entry_live", kWhole},
    {"exit_live", kWhole},    {"peak_live", kWhole},   {"transient", kWhole},   {"net", kWhole},
    {"tensor_entry", kWhole}, {"tensor_exit", kWhole}, {"tensor_peak", kWhole}, {"tensor_transient", kWhole},
    {"tensor_net", kWhole},   {"allocated", kWhole},   {"freed", kWhole},       {"allocations", kWhole}};
constexpr FleetColumn kPeaks[] = {
    {"process", kText}, {"memory", kText},     {"measure", kText},      {"leads", kFlag},
    {"t", kReal},       {"phase", kText},      {"step", kWhole},        {"role", kText},
    {"kind", kText},    {"own_line", kText},   {"allocated_by", kText}, {"born_phase", kText},
    {"bytes", kWhole},  {"untouched", kWhole}, {"asked", kWhole},       {"blocks", kWhole},
    {"how", kText}};
constexpr FleetColumn kLedgers[] = {
    {"process", kText}, {"scope", kText},       {"memory", kText}, {"at", kText},     {"t", kReal},
    {"total", kWhole},  {"high_water", kWhole}, {"name", kText},   {"bytes", kWhole}, {"how", kText}};
constexpr FleetColumn kFindings[] = {
    {"process", kText},       {"id", kText},          {"title", kText},    {"memory", kText},
    {"phase", kText},         {"step", kWhole},       {"bytes", kWhole},   {"bytes_at_peak", kWhole},
    {"bytes_at_end", kWhole}, {"confidence", kText},  {"evidence", kText}, {"remedy", kText},
    {"own_line", kText},      {"allocated_by", kText}};
constexpr FleetColumn kSamples[] = {
    {"process", kText}, {"memory", kText}, {"measure", kText}, {"t", kReal}, {"bytes", kWhole}};
constexpr FleetColumn kUsage[] = {{"process", kText}, {"memory", kText},       {"measure", kText},
                                  {"seconds", kReal}, {"byte_seconds", kReal}, {"highest", kWhole}};
constexpr FleetColumn kHeadroom[] = {{"process", kText},       {"limit_of", kText},   {"name", kText},
                                     {"memory", kText},        {"soft", kFlag},       {"limit_bytes", kWhole},
                                     {"needed_bytes", kWhole}, {"used_bytes", kWhole}};
constexpr FleetColumn kJobFindings[] = {
    {"id", kText},          {"title", kText},    {"memory", kText},         {"phase", kText},
    {"step", kWhole},       {"bytes", kWhole},   {"bytes_at_peak", kWhole}, {"bytes_at_end", kWhole},
    {"confidence", kText},  {"evidence", kText}, {"remedy", kText},         {"own_line", kText},
    {"allocated_by", kText}};

constexpr FleetTable kTables[] = {{"jobs", false, kJobs},        {"processes", true, kProcesses},
                                  {"phases", true, kPhases},     {"peaks", true, kPeaks},
                                  {"ledgers", true, kLedgers},   {"findings", true, kFindings},
                                  {"samples", true, kSamples},   {"usage", true, kUsage},
                                  {"headroom", true, kHeadroom}, {"job_findings", false, kJobFindings}};

} // namespace

std::span<const FleetTable> fleet_tables() {
  return kTables;
}

} // namespace memtrace::report
