// Room: cli.
// Job: the one process that a command is about, and the memory of it that was asked for.
#pragma once

#include <memory>
#include <string>

#include "cli/meter.h"
#include "report/view.h"

namespace memtrace::cli {

// The first process of a job: its main one. "" for the newest job.
std::unique_ptr<report::View> main_view(const std::string& argument, Meter& meter);

// "" for the one where most tensors are. Throws Usage for one that is not in the trace.
fold::MemoryId memory_of(const report::View& view, const std::string& asked);

// For text that goes to stdout, where `output` is "".
bool in_color(const std::string& output);

} // namespace memtrace::cli
