// Purpose: tests the profiles that other tools read: their sums, and names that hold any byte.
#include <gtest/gtest.h>
#include <zlib.h>

#include <nlohmann/json.hpp>
#include <protozero/pbf_reader.hpp>

#include "analyzed.h"
#include "analyzer/export/profiles/folded_stacks.h"
#include "analyzer/export/profiles/pprof_profile.h"
#include "analyzer/export/profiles/speedscope_profile.h"

namespace memtrace::report {
namespace {

using tests::Builder;

constexpr char kHostile[] = "f;\n\x1b[2J\xff \"}\\";

// 3 MiB below a function of a hostile name, 1 MiB beside it, and 4,000 bytes of small blocks.
void add_hostile(Builder& builder) {
  const std::uint32_t main = builder.python_frame("main", "/home/u/a;b.py", 3, 0);
  const std::uint32_t hostile = builder.python_frame(kHostile, "/home/u/a.py", 7, main);
  builder.begin("load");
  builder.birth(1 << 24, 3 << 20, format::Kind::heap, 0, hostile);
  builder.birth(2 << 24, 1 << 20, format::Kind::heap, 0, main);
  builder.counters(4000, 0, 10, 0);
  builder.end("load");
}

constexpr std::int64_t kHostileTotal = (4 << 20) + 4000;

HeldBlocks peak_of_host(const ProcessAnalysis& analysis) {
  return held_at_peak(analysis, leading_peak(analysis, 0));
}

TEST(FoldedStacks, EachLineIsAStackAndTheSumIsThePeak) {
  Builder builder;
  add_hostile(builder);
  const tests::Analyzed program(builder);
  std::vector<std::string> lines;
  write_folded(*program, call_tree(*program, peak_of_host(*program), {}),
               [&lines](std::string_view line) { lines.emplace_back(line); });
  EXPECT_EQ(lines, (std::vector<std::string>{
                       "(no stack: small blocks, counted exactly) 4000\n",
                       "main (a,b.py:3) 1048576\n",
                       "main (a,b.py:3);f,??[2J\xEF\xBF\xBD \"}\\ (a.py:7) 3145728\n",
                   }));
}

TEST(Speedscope, IsJsonWhoseWeightsAddUpToThePeak) {
  Builder builder;
  add_hostile(builder);
  const tests::Analyzed program(builder);
  std::string text;
  write_speedscope(*program, {peak_of_host(*program)}, 0, [&text](std::string_view part) { text += part; });
  const auto file = nlohmann::json::parse(text);
  const auto& profile = file["profiles"][0];
  std::int64_t sum = 0;
  for (const auto& weight : profile["weights"]) sum += weight.get<std::int64_t>();
  EXPECT_EQ(sum, kHostileTotal);
  EXPECT_EQ(profile["endValue"], kHostileTotal);
  EXPECT_EQ(profile["samples"].size(), profile["weights"].size());
  for (const auto& stack : profile["samples"])
    for (const auto& frame : stack) EXPECT_LT(frame.get<std::size_t>(), file["shared"]["frames"].size());
}

// Returns what was compressed.
std::string gunzipped(const std::string& bytes) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  std::string out(1 << 20, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

TEST(Pprof, SamplesAddUpToThePeakAndTextsAreUtf8) {
  Builder builder;
  add_hostile(builder);
  const tests::Analyzed program(builder);
  const std::string message = gunzipped(pprof_profile(*program, peak_of_host(*program)));
  std::int64_t bytes = 0, blocks = 0;
  std::vector<std::string> texts;
  for (protozero::pbf_reader profile(message); profile.next();) {
    if (profile.tag() == 2) {
      protozero::pbf_reader sample = profile.get_message();
      while (sample.next(2)) {
        auto values = sample.get_packed_int64();
        auto at = values.begin();
        blocks += *at++;
        bytes += *at;
      }
    } else if (profile.tag() == 6) {
      texts.push_back(profile.get_string());
    } else {
      profile.skip();
    }
  }
  EXPECT_EQ(bytes, kHostileTotal);
  EXPECT_EQ(blocks, 2);
  EXPECT_EQ(texts.front(), "") << "pprof's text 0";
  EXPECT_NE(std::find(texts.begin(), texts.end(), "f;??[2J\xEF\xBF\xBD \"}\\"), texts.end());
  EXPECT_NE(std::find(texts.begin(), texts.end(), "load"), texts.end()) << "the label of the phase";
}

} // namespace
} // namespace memtrace::report
