// Purpose: finds how a traced process ended, or that it still runs.
#include "analyzer/job/process_end.h"

#include <fmt/core.h>
#include <signal.h>

#include "analyzer/job/process_alive.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {
namespace {

ProcessEnd told(std::string how, std::uint32_t code) {
  ProcessEnd out;
  out.how = std::move(how);
  out.code = code;
  return out;
}

// Returns the only end by a signal that the recorder sees: the program called abort(), and no event followed.
ProcessEnd aborted(const trace::Facts& facts) {
  ProcessEnd out = told("signal", facts.end->code);
  out.certain = true;
  if (out.code == SIGABRT) out.evidence.emplace_back("trace: it called abort()");
  return out;
}

// Returns the signal that the kernel sends for a fault such as "python[7081]: segfault at 0".
std::uint32_t signal_of(const evidence::ProgramFault& fault) {
  const auto has = [&](const char* what) { return fault.words.find(what) != std::string::npos; };
  return has("segfault") || has("general protection") ? SIGSEGV
         : has("divide error")                        ? SIGFPE
         : has("invalid opcode")                      ? SIGILL
         : has("int3")                                ? SIGTRAP
                                                      : SIGSEGV;
}

std::string words_of(const evidence::Statement& statement) {
  std::string text = fmt::format("{}: {}", statement.source, statement.who);
  if (!statement.reason.empty()) text += ": " + statement.reason;
  if (statement.code) text += fmt::format(", exit {}", *statement.code);
  if (statement.signal && *statement.signal != 0) text += fmt::format(", signal {}", *statement.signal);
  if (statement.limit != evidence::kUnknown) text += fmt::format(", limit {}", sized(statement.limit));
  return text;
}

// Returns the signal that ended the process, or 0. A container's status is that of its first process; above
// 128, it is 128 plus the signal.
std::uint32_t signal_of(const evidence::Statement& statement) {
  if (statement.signal && *statement.signal > 0) return static_cast<std::uint32_t>(*statement.signal);
  return statement.code && *statement.code > 128 ? static_cast<std::uint32_t>(*statement.code - 128) : 0;
}

// Adds why the cause is unknown: the sources that were read, and what they lack.
void add_silence(ProcessEnd& ending, const evidence::Witness& witness, const evidence::Evidence& evidence) {
  if (witness.other_candidates != 0)
    ending.evidence.push_back(fmt::format(
        "the OOM killer killed in its cgroup then, and {} more ended without a "
        "word: which of them it was is not known",
        witness.other_candidates == 1 ? "1 process" : fmt::format("{} processes", witness.other_candidates)));
  if (!evidence.log.empty()) {
    ending.evidence.push_back("kernel's log: not read: " + evidence.log);
  } else if (witness.other_candidates == 0) {
    ending.evidence.push_back("kernel's log: read, and has nothing about this process");
  }
}

} // namespace

ProcessEnd read_end(const trace::Trace& trace, std::optional<bool> packed) {
  const trace::Facts& facts = trace.facts();
  if (facts.end) {
    switch (facts.end->how) {
      case format::EndHow::exit:
        return told("exit", facts.end->code);
      case format::EndHow::signal:
        return aborted(facts);
      case format::EndHow::exec:
        return told("exec", 0);
      default:
        return told(facts.note("stopped") ? "stopped" : "unknown", facts.end->code);
    }
  }
  if (facts.last_was_exec) return told("exec", 0);
  if (packed ? *packed : running(facts)) return told("running", 0);
  ProcessEnd out = told("unknown", 0);
  if (facts.survived_abort) out.evidence.push_back("trace: it called abort() before, and went on");
  return out;
}

bool killed_for_memory(const ProcessEnd& end) {
  return end.how == "oom_kill" || (end.how == "killed_by_manager" && end.for_memory);
}

std::string ended(const ProcessEnd& end) {
  if (end.how == "exit") return fmt::format("exited with {}", end.code);
  if (end.how == "oom_kill") return "killed for memory";
  if (end.how == "killed_by_manager" && end.for_memory) return "killed for memory by " + end.manager;
  if (end.how == "killed_by_manager")
    return "killed by " + end.manager + (end.after.empty() ? "" : " after " + end.after + " died");
  if (end.how == "signal") return fmt::format("ended by signal {} ({})", end.code, signal_name(end.code));
  if (end.how == "exec") return "became another program (exec)";
  if (end.how == "running") return "still running";
  if (end.how == "stopped") return "stopped recording as asked";
  if (end.code == SIGKILL) return "killed, cause unknown";
  return "no record of its end (killed?)";
}

std::string ended_briefly(const ProcessEnd& end) {
  if (end.how == "killed_by_manager" && !end.after.empty()) return "killed by " + end.manager;
  return end.how == "unknown" && end.code == SIGKILL ? "killed by SIGKILL" : ended(end);
}

std::string limit_named(const evidence::Kill& kill) {
  if (kill.constraint == "CONSTRAINT_CPUSET" || kill.constraint == "CONSTRAINT_MEMORY_POLICY")
    return "the memory nodes it may use";
  if (!kill.for_group()) return "the machine";
  if (kill.limited.empty()) return "a cgroup that the log does not name";
  if (kill.group.empty() || kill.limited == kill.group) return "its cgroup " + kill.limited;
  return fmt::format("the cgroup {} above its own, {}", kill.limited, kill.group);
}

void apply_evidence(ProcessEnd& ending, const evidence::Witness& witness, const evidence::Evidence& evidence) {
  if (ending.how != "unknown") return;
  ending.witness = witness;
  ending.certain = witness.certain;
  if (witness.kill != nullptr || witness.counter != nullptr ||
      (witness.statement != nullptr && witness.statement->out_of_memory)) {
    ending.how = "oom_kill";
    ending.code = SIGKILL;
  } else if (witness.fault != nullptr) {
    ending.how = "signal";
    ending.code = signal_of(*witness.fault);
    ending.certain = true;
  } else if (witness.statement != nullptr && signal_of(*witness.statement) != 0) {
    ending.code = signal_of(*witness.statement);
    if (ending.code != SIGKILL) ending.how = "signal"; // the sender of SIGKILL is not known
  }
  if (const evidence::Kill* const kill = witness.kill) {
    ending.evidence.push_back(fmt::format("kernel's log: {}: out of memory in {}",
                                          kill->constraint.empty() ? "no constraint said" : kill->constraint,
                                          limit_named(*kill)));
    if (kill->usage != evidence::kUnknown && kill->limit != evidence::kUnknown)
      ending.evidence.back() += fmt::format(": usage {} of {}", sized(kill->usage), sized(kill->limit));
    ending.evidence.push_back("kernel's log: " + kill->words);
    if (kill->whole_group)
      ending.evidence.push_back("kernel's log: memory.oom.group is set: all processes of " + kill->group +
                                " were killed");
  }
  if (witness.counter != nullptr)
    ending.evidence.push_back(
        fmt::format("cgroup {}: oom_kill is {} now, and was less at the last sample, with "
                    "the charge near the limit",
                    witness.counter->path, witness.counter->oom_kills));
  if (witness.statement != nullptr) ending.evidence.push_back(words_of(*witness.statement));
  if (witness.fault != nullptr) ending.evidence.push_back("kernel's log: " + witness.fault->words);
  if (ending.how == "unknown") add_silence(ending, witness, evidence);
}

bool may_be_of_manager(const ProcessEnd& ending) {
  return ending.how == "unknown" || (ending.how == "signal" && ending.code == SIGTERM);
}

void apply_evidence(ProcessEnd& ending, const evidence::ManagerWitness& witness, const std::string& failed) {
  if (!may_be_of_manager(ending) || witness.kill == nullptr) return;
  const evidence::ManagerKill& kill = *witness.kill;
  ending.how = "killed_by_manager";
  ending.certain = witness.certain;
  ending.manager = kill.manager;
  ending.for_memory = kill.for_memory;
  ending.after = failed;
  if (kill.signal) ending.code = static_cast<std::uint32_t>(*kill.signal);
  ending.evidence.push_back(kill.manager + ": " + (kill.words.empty() ? "it ended the process" : kill.words));
}

void apply_evidence(ProcessEnd& ending, const evidence::End& end) {
  const auto code = static_cast<std::uint32_t>(end.code);
  ending.evidence.push_back(
      "memtrace run: wait status: " +
      (end.signal ? fmt::format("signal {} ({})", code, signal_name(code)) : fmt::format("exit {}", code)));
  if (ending.how == "killed_by_manager") ending.code = code;
  if (ending.how != "unknown") return;
  ending.code = code;
  if (end.signal && end.code == SIGKILL) return; // the sender of SIGKILL is not known
  ending.how = end.signal ? "signal" : "exit";
  ending.certain = true;
}

} // namespace memtrace::report
