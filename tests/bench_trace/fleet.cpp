// Purpose: writes the traces of a fleet of ranks, with or without planted faults, and says what was planted.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "fleet_rank.h"

namespace memtrace::tests {
namespace {

constexpr const char* kUsage =
    "usage: memtrace_fleet_trace DIR RANKS [KEY=VALUE ...]\n"
    "Writes RANKS traces into DIR, and prints what they contain as JSON.\n"
    "  outlier=RANK:PERCENT     this rank has so many percent more activations; may be repeated\n"
    "  leak=AXIS:PLACE:BYTES    the ranks at this place of pp, dp or tp keep BYTES of each step; may be "
    "repeated\n"
    "  rounding=BYTES           each block of activations has so many bytes that were not asked for\n"
    "  half=HOST                the host of this number, from 0, has half the memory; may be repeated\n"
    "  pp=N tp=N                sizes of the axes (2 if RANKS is even; 2 if it is a multiple of 4 from 100 "
    "on)\n"
    "  per-host=N               ranks of a host (8)\n"
    "  steps=N hours=N          steps of each rank (48), and the hours that they take (72)\n"
    "  job=ID seed=N            (fleet, 1)\n";

struct Leak {
  std::string axis;
  std::uint32_t place = 0;
  std::uint64_t bytes = 0;
};

struct Request {
  std::string folder;
  FleetPlan plan;
  std::map<std::uint32_t, std::uint32_t> outliers; // percent by rank
  std::vector<Leak> leaks;
  std::uint64_t rounding = 0;
  std::vector<std::uint32_t> half;
};

std::uint64_t number(const std::string& text) {
  std::size_t used = 0;
  const std::uint64_t out = std::stoull(text, &used);
  if (used != text.size()) throw std::invalid_argument(text);
  return out;
}

std::uint32_t small(const std::string& text) {
  return static_cast<std::uint32_t>(number(text));
}

std::vector<std::string> parts(const std::string& text, std::size_t count) {
  std::vector<std::string> out(1);
  for (const char letter : text) {
    if (letter == ':') {
      out.emplace_back();
    } else {
      out.back() += letter;
    }
  }
  if (out.size() != count) throw std::invalid_argument(text);
  return out;
}

void apply(Request& request, const std::string& key, const std::string& value) {
  FleetPlan& plan = request.plan;
  if (key == "outlier") {
    request.outliers[small(parts(value, 2)[0])] = small(parts(value, 2)[1]);
  } else if (key == "leak") {
    const auto all = parts(value, 3);
    request.leaks.push_back({all[0], small(all[1]), number(all[2])});
  } else if (key == "rounding") {
    request.rounding = number(value);
  } else if (key == "half") {
    request.half.push_back(small(value));
  } else if (key == "hours") {
    plan.hours = std::stod(value);
  } else if (key == "job") {
    plan.job = value;
  } else if (key == "seed") {
    plan.seed = number(value);
  } else {
    const std::map<std::string, std::uint32_t*> sizes = {
        {"pp", &plan.pp}, {"tp", &plan.tp}, {"per-host", &plan.ranks_of_host}, {"steps", &plan.steps}};
    *sizes.at(key) = small(value);
  }
}

Request request_of(int argc, char** argv) {
  if (argc < 3) throw std::invalid_argument("too few arguments");
  Request out;
  out.folder = argv[1];
  out.plan.ranks = small(argv[2]);
  if (out.plan.ranks % 2 == 0) out.plan.pp = 2;
  if (out.plan.ranks >= 100 && out.plan.ranks % 4 == 0) out.plan.tp = 2;
  for (int i = 3; i < argc; ++i) {
    const std::string text = argv[i];
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) throw std::invalid_argument(text);
    apply(out, text.substr(0, equals), text.substr(equals + 1));
  }
  const FleetPlan& plan = out.plan;
  if (plan.ranks == 0 || plan.pp == 0 || plan.tp == 0 || plan.ranks_of_host == 0 || plan.steps == 0 ||
      plan.ranks % (plan.pp * plan.tp) != 0)
    throw std::invalid_argument("the axes do not divide the ranks");
  return out;
}

bool is_at(const Leak& leak, const Place& place) {
  return (leak.axis == "pp" ? place.pp : leak.axis == "dp" ? place.dp : place.tp) == leak.place;
}

Planted planted_in(const Request& request, const Place& place) {
  Planted out;
  out.rounding = request.rounding;
  const auto more = request.outliers.find(place.rank);
  if (more != request.outliers.end()) out.more_activations = more->second;
  for (const Leak& leak : request.leaks)
    if (is_at(leak, place)) out.leak += leak.bytes;
  for (const std::uint32_t host : request.half) out.half_memory = out.half_memory || host == place.host;
  return out;
}

// Returns "[1, 2]", the ranks for which `has` is true.
template <class Has>
std::string ranks_with(const FleetPlan& plan, const Has& has) {
  std::string out;
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank)
    if (has(place_of(plan, rank))) out += (out.empty() ? "" : ", ") + std::to_string(rank);
  return "[" + out + "]";
}

std::string outliers_json(const Request& request) {
  std::string out;
  for (const auto& [rank, percent] : request.outliers) {
    const Place place = place_of(request.plan, rank);
    char text[320];
    std::snprintf(text, sizeof text,
                  "%s{\"rank\": %u, \"host\": \"%s\", \"pp\": %u, \"dp\": %u, \"tp\": %u, \"percent\": %u, "
                  "\"more\": %llu, \"line\": \"%s\"}",
                  out.empty() ? "" : ", ", rank, host_name(place.host).c_str(), place.pp, place.dp, place.tp,
                  percent,
                  static_cast<unsigned long long>(activations_of_step(percent) - activations_of_step(0)),
                  FleetRank::kActivationLine);
    out += text;
  }
  return "[" + out + "]";
}

std::string leaks_json(const Request& request) {
  const FleetPlan& plan = request.plan;
  std::string out;
  for (const Leak& leak : request.leaks) {
    char text[320];
    std::snprintf(text, sizeof text,
                  "%s{\"axis\": \"%s\", \"place\": %u, \"bytes_per_step\": %llu, \"bytes_per_day\": %.0f, "
                  "\"line\": \"%s\", \"ranks\": ",
                  out.empty() ? "" : ", ", leak.axis.c_str(), leak.place,
                  static_cast<unsigned long long>(leak.bytes),
                  static_cast<double>(leak.bytes) * plan.steps / plan.hours * 24, FleetRank::kLeakLine);
    out += text + ranks_with(plan, [&](const Place& place) { return is_at(leak, place); }) + "}";
  }
  return "[" + out + "]";
}

std::string half_json(const Request& request) {
  std::string out;
  for (const std::uint32_t host : request.half)
    out += (out.empty() ? "{\"host\": \"" : ", {\"host\": \"") + host_name(host) +
           "\", \"memory\": " + std::to_string(host_memory(true)) +
           ", \"others\": " + std::to_string(host_memory(false)) +
           ", \"ranks\": " + ranks_with(request.plan, [&](const Place& place) { return place.host == host; }) +
           "}";
  return "[" + out + "]";
}

void write_fleet(const Request& request) {
  const FleetPlan& plan = request.plan;
  std::filesystem::create_directories(request.folder);
  std::uint64_t bytes = 0, records = 0;
  std::string peaks;
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
    const Place place = place_of(plan, rank);
    Output output(request.folder + "/" + FleetRank::file_name(plan, place), Output::kTraceId + 1 + rank);
    FleetRank trace(output, plan, place, planted_in(request, place));
    trace.run();
    bytes += output.bytes(), records += output.records();
    peaks += (rank == 0 ? "" : ", ") + std::to_string(trace.peak());
  }
  std::printf(
      "{\"job\": \"%s\", \"ranks\": %u, \"hosts\": %u, \"pp\": %u, \"dp\": %u, \"tp\": %u, "
      "\"steps\": %u, \"hours\": %g, \"bytes\": %llu, \"records\": %llu,\n",
      plan.job.c_str(), plan.ranks, (plan.ranks - 1) / plan.ranks_of_host + 1, plan.pp, plan.dp(), plan.tp,
      plan.steps, plan.hours, static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(records));
  std::printf(
      " \"outliers\": %s,\n \"leaks\": %s,\n \"half_memory\": %s,\n \"rounding\": %llu, \"peaks\": [%s]}\n",
      outliers_json(request).c_str(), leaks_json(request).c_str(), half_json(request).c_str(),
      static_cast<unsigned long long>(request.rounding * FleetRank::kLayers), peaks.c_str());
}

} // namespace
} // namespace memtrace::tests

int main(int argc, char** argv) {
  memtrace::tests::Request request;
  try {
    request = memtrace::tests::request_of(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "memtrace_fleet_trace: %s cannot be read\n%s", error.what(), memtrace::tests::kUsage);
    return 2;
  }
  try {
    memtrace::tests::write_fleet(request);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "memtrace_fleet_trace: %s\n", error.what());
    return 1;
  }
  return 0;
}
