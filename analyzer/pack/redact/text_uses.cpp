// Purpose: finds what each text of a trace is: a path, a host name, arguments, or a name that stays.
#include "analyzer/pack/redact/text_uses.h"

#include <algorithm>

#include "preload/format/event_fields.h"

namespace memtrace::redact {
namespace {

constexpr std::string_view kLibraryPath = "python-path=";

} // namespace

void TextUses::use(format::TextId id, TextUse as) {
  if (id == format::TextId{}) return;
  const auto [at, fresh] = uses_.try_emplace(id, as);
  if (!fresh) at->second = std::max(at->second, as);
}

void TextUses::add(const format::RingRecord& record) {
  add_definition(record);
  add_process(record);
  add_phase(record);
}

void TextUses::add_definition(const format::RingRecord& record) {
  using enum format::EventType;
  switch (static_cast<format::EventType>(record.type)) {
    case code:
      use(record.as<format::CodeEvent>().function, TextUse::name);
      use(record.as<format::CodeEvent>().file, TextUse::path);
      break;
    case module:
      use(record.as<format::ModuleEvent>().path, TextUse::path);
      break;
    case parameter_dtype:
      use(record.as<format::ParameterDtypeEvent>().dtype, TextUse::name);
      break;
    case device:
      use(record.as<format::DeviceEvent>().name, TextUse::name);
      use(record.as<format::DeviceEvent>().source, TextUse::name);
      break;
    default:
      break;
  }
}

void TextUses::add_process(const format::RingRecord& record) {
  using enum format::EventType;
  switch (static_cast<format::EventType>(record.type)) {
    case process:
      use(record.as<format::ProcessEvent>().executable, TextUse::path);
      use(record.as<format::ProcessEvent>().arguments, TextUse::arguments);
      use(record.as<format::ProcessEvent>().host, TextUse::host);
      use(record.as<format::ProcessEvent>().directory, TextUse::path);
      break;
    case job:
      use(record.as<format::JobEvent>().job, TextUse::job);
      use(record.as<format::JobEvent>().launcher, TextUse::name);
      break;
    case exec:
      use(record.as<format::ExecEvent>().path, TextUse::path);
      break;
    case note:
      use(record.as<format::NoteEvent>().text, TextUse::note);
      break;
    case sample_cgroup:
      use(record.as<format::SampleCgroupEvent>().path, TextUse::path);
      break;
    default:
      break;
  }
}

void TextUses::add_phase(const format::RingRecord& record) {
  using enum format::EventType;
  switch (static_cast<format::EventType>(record.type)) {
    case phase_begin:
      use(record.as<format::PhaseBeginEvent>().name, TextUse::label);
      break;
    case phase_end:
      use(record.as<format::PhaseEndEvent>().name, TextUse::label);
      break;
    case open_phase:
      use(record.as<format::OpenPhaseEvent>().name, TextUse::label);
      break;
    case birth:
      use(record.as<format::BirthEvent>().module, TextUse::label);
      break;
    case label:
      use(record.as<format::LabelEvent>().role, TextUse::label);
      use(record.as<format::LabelEvent>().name, TextUse::label);
      use(record.as<format::LabelEvent>().module, TextUse::label);
      break;
    case held:
      use(record.as<format::HeldEvent>().role, TextUse::label);
      use(record.as<format::HeldEvent>().path, TextUse::label);
      break;
    case displaced:
      use(record.as<format::DisplacedEvent>().role, TextUse::label);
      break;
    case coarse:
      use(record.as<format::CoarseEvent>().phase, TextUse::label);
      break;
    default:
      break;
  }
}

void TextUses::add(const trace::Rings& rings) {
  for (const trace::Leftover& slot : rings.slots)
    for (const format::RingRecord& record : slot.records) add(record);
}

void TextUses::add(const trace::RollupRows& rollup) {
  for (const format::PhaseRow& row : rollup.phases) use(format::TextId{row.path}, TextUse::label);
  for (const format::SiteRow& row : rollup.sites) use(format::TextId{row.path}, TextUse::label);
}

void TextUses::learn(const trace::Definitions& definitions, PrivateNames& names) const {
  for (const auto& [id, as] : uses_)
    if (as == TextUse::host) names.learn_host(definitions.whole_text(id));
  for (const auto& [id, as] : uses_) {
    const std::string& text = definitions.whole_text(id);
    if (as == TextUse::path) names.learn_path(text);
    if (as == TextUse::note && text.starts_with(kLibraryPath))
      names.learn_library(text.substr(kLibraryPath.size()));
  }
}

std::map<format::TextId, std::string> TextUses::replacements(const trace::Definitions& definitions,
                                                             PrivateNames& names) const {
  std::map<format::TextId, std::string> out;
  for (const auto& [id, as] : uses_) {
    const std::string& text = definitions.whole_text(id);
    out[id] = as == TextUse::name        ? text
              : as == TextUse::label     ? names.label(text)
              : as == TextUse::path      ? names.path(text)
              : as == TextUse::note      ? names.note(text)
              : as == TextUse::job       ? names.job(text)
              : as == TextUse::arguments ? names.arguments(text)
                                         : names.host(text);
  }
  return out;
}

} // namespace memtrace::redact
