// Purpose: secrets in an argument list go, everything else stays.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "preload/process/process_identity.h"

namespace memtrace::record {
namespace {

using Words = std::vector<std::string>;

std::string joined(const Words& words) {
  std::string out;
  for (const std::string& word : words) out.append(word).push_back('\0');
  return out;
}

// With a byte behind the list, as the recorder has, that says when somebody wrote there.
std::string redacted(const std::string& list) {
  std::string buffer = list + '\0' + "guard";
  const std::size_t bytes = redact(buffer.data(), list.size());
  EXPECT_LE(bytes, list.size());
  EXPECT_EQ(buffer.substr(list.size() + 1), "guard");
  return buffer.substr(0, bytes);
}

void expect(const Words& before, const Words& after) {
  EXPECT_EQ(redacted(joined(before)), joined(after));
}
void expect_kept(const Words& words) {
  expect(words, words);
}

TEST(Redact, TheArgumentAfter) {
  expect({"python", "t.py", "--token", "abcdef", "--lr", "1"},
         {"python", "t.py", "--token", "***", "--lr", "1"});
  expect({"--hf-token", "x"}, {"--hf-token", "*"});
  expect({"--wandb_api_key", "0123456789"}, {"--wandb_api_key", "***"});
  expect({"--PASSWORD", "hunter2", "--db-passwd", "hunter3"}, {"--PASSWORD", "***", "--db-passwd", "***"});
  expect({"--secret", "--verbose", "path"}, {"--secret", "--verbose", "path"});
  expect({"--token", "", "next"}, {"--token", "", "next"});
}

TEST(Redact, TheValueBehindTheSign) {
  expect({"--api-key=abc", "x"}, {"--api-key=***", "x"});
  expect({"HF_TOKEN=hf_abc", "WANDB_API_KEY=k", "x=1"}, {"HF_TOKEN=***", "WANDB_API_KEY=*", "x=1"});
  expect({"--token=a=b=c", "--token=", "AWS_SECRET_ACCESS_KEY=abc"},
         {"--token=***", "--token=", "AWS_SECRET_ACCESS_KEY=***"});
}

TEST(Redact, ValuesThatLookLikeSecrets) {
  expect({"login", "hf_abcdefghijklmnop"}, {"login", "***"});
  expect({"x=sk-abcdefghijklmnop", "ghp_abcdefghijklmnop1234", "-k", "AKIAIOSFODNN7EXAMPLE"},
         {"x=***", "***", "-k", "***"});
  expect({"github_pat_11ABCDEFG0", "xoxb-1234567890-abc", "glpat-abcdefghij1234"}, {"***", "***", "***"});
}

TEST(Redact, NothingElse) {
  expect_kept({"python", "train.py", "--lr", "1e-4", "--model=gpt2", "run=3", "a=b=c", "="});
  expect_kept({"hf_short", "sk-1", "model/hf_cache_directory_of_mine"});
  expect_kept({"--keyword", "value", "--key", "value", "--pass", "2"});
  expect_kept({"", "", "--", "-"});
}

// Known: any name with "token" in it counts as a secret's, and any text that starts with hf_. To be enabled
// with the fix.
TEST(Redact, NamesThatOnlyLookLikeSecrets) {
  expect_kept(
      {"--tokenizer", "gpt2-large", "--max-tokens", "512", "--num_tokens=64", "--tokenizer_path", "/data/t"});
  expect_kept({"model.tokenizer.path=/data/tok", "tokenizer=gpt2", "tokens_per_batch=4096"});
  expect_kept({"--dataset=hf_internal_testing_set"});
}

TEST(Redact, ReportsSizeOfWhatIsLeft) {
  EXPECT_EQ(redacted(joined({"--token", "abcdefghijklmnop"})).size(), sizeof("--token") + sizeof("***"));
  EXPECT_EQ(redacted(""), "");
}

// /proc/self/cmdline, cut in the middle of a word: no NUL at the end.
TEST(Redact, CutList) {
  EXPECT_EQ(redacted(std::string("python\0--token\0abcde", 20)),
            std::string("python\0--token\0***", 18) + '\0');
  EXPECT_EQ(redacted(std::string("a\0--api_key=abc", 15)), std::string("a\0--api_key=***", 15));
  EXPECT_EQ(redacted(std::string("python\0tra", 10)), std::string("python\0tra", 10));
}

TEST(Redact, OddBytes) {
  expect_kept({"\x80\xFF\xFE", "\xC3\xA9=\xF0\x9F\x98\x80", "\n\t\x01"});
  expect({"--\xC3\xA9token", "\xF0\x9F\x98\x80\x80"}, {"--\xC3\xA9token", "***"});
}

} // namespace
} // namespace memtrace::record
