// Purpose: writes the blocks of a timeline into a page: groups, classes, rows and live sets.
#include "analyzer/page/block_sections.h"

namespace memtrace::report {
namespace {

void add_groups(PageBlock& block, const std::string& prefix, const replay::Timeline& timeline,
                const BlockNames& names) {
  enum GroupFlag : std::uint8_t { kTensor = 1, kSampled = 2 };
  std::vector<std::uint32_t> leaf, phase, name;
  std::vector<std::uint8_t> role, kind, flags, band;
  for (const replay::PageGroup& group : timeline.rows.groups) {
    leaf.push_back(names.tree.leaf(group.stack));
    role.push_back(static_cast<std::uint8_t>(group.role));
    kind.push_back(static_cast<std::uint8_t>(group.kind));
    flags.push_back(static_cast<std::uint8_t>((group.tensor ? kTensor : 0) | (group.sampled ? kSampled : 0)));
    band.push_back(static_cast<std::uint8_t>(group.band));
    const bool phased = group.phase != replay::NameId::other;
    phase.push_back(phased ? names.texts.number(timeline.outline.paths.text(group.phase)) : 0);
    name.push_back(group.name != format::TextId{}
                       ? names.texts.number(names.analysis.trace->definitions().text(group.name))
                       : 0);
  }
  block.add(prefix + "group.leaf", leaf);
  block.add(prefix + "group.role", role);
  block.add(prefix + "group.kind", kind);
  block.add(prefix + "group.flags", flags);
  block.add(prefix + "group.band", band);
  block.add(prefix + "group.phase", phase);
  block.add(prefix + "group.name", name);
}

void add_classes(PageBlock& block, const std::string& prefix, const replay::Timeline& timeline) {
  std::vector<std::uint32_t> group;
  std::vector<std::uint8_t> memory;
  std::vector<std::int64_t> given, tensor;
  for (const replay::BlockClass& one : timeline.rows.classes) {
    group.push_back(one.group);
    memory.push_back(one.memory);
    given.push_back(static_cast<std::int64_t>(one.given));
    tensor.push_back(static_cast<std::int64_t>(one.tensor));
  }
  block.add(prefix + "class.group", group);
  block.add(prefix + "class.memory", memory);
  block.add(prefix + "class.given", given);
  block.add(prefix + "class.tensor", tensor);
}

void add_sets(PageBlock& block, const std::string& prefix, const replay::Timeline& timeline) {
  std::vector<std::uint32_t> start{0}, klass, count;
  for (const replay::LiveSet& set : timeline.rows.sets) {
    for (const auto& [of, blocks] : set.blocks) {
      klass.push_back(of);
      count.push_back(blocks);
    }
    start.push_back(static_cast<std::uint32_t>(klass.size()));
  }
  block.add(prefix + "set.start", start);
  block.add(prefix + "set.class", klass);
  block.add(prefix + "set.count", count);
}

void add_rows(PageBlock& block, const std::string& prefix, const replay::Timeline& timeline,
              format::Stamp start) {
  std::vector<std::int64_t> time, small;
  std::vector<std::uint32_t> klass, ref;
  for (const replay::BlockRow& row : timeline.rows.rows) {
    time.push_back(row.stamp > start ? static_cast<std::int64_t>(row.stamp - start) : 0);
    klass.push_back(row.klass);
    ref.push_back(row.ref);
    small.push_back(row.small);
  }
  block.add(prefix + "row.time", time, true);
  block.add(prefix + "row.class", klass);
  block.add(prefix + "row.ref", ref);
  block.add(prefix + "row.small", small);
}

} // namespace

void add_blocks(PageBlock& block, const std::string& prefix, const replay::Timeline& timeline,
                const BlockNames& names) {
  add_groups(block, prefix, timeline, names);
  add_classes(block, prefix, timeline);
  add_rows(block, prefix, timeline, names.analysis.facts().start_stamp);
  add_sets(block, prefix, timeline);
}

} // namespace memtrace::report
