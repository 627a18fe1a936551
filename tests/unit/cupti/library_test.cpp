// Purpose: what is asked of a libcupti of each age; and of the real one, where there is one.
#include "cupti/library.h"

#include <gtest/gtest.h>

#include "cupti/subscriber.h"
#include "cupti/text.h"

namespace memtrace::cupti {
namespace {

TEST(Library, ParametersAreOfTheRunningVersionsSize) {
  EXPECT_EQ(params_size(0), 32u);
  EXPECT_EQ(params_size(28), 32u); // as CUDA 12's number themselves
  EXPECT_EQ(params_size(130001), 32u);
  EXPECT_EQ(params_size(130101), 32u);
  EXPECT_EQ(params_size(130200), 40u);
  EXPECT_EQ(params_size(130500), 40u);
}

TEST(Library, OfTheHeadersSize) {
  // Where the headers are of 13.2 or later, theirs has the same size as ours.
  if (CUPTI_API_VERSION >= 130200)
    EXPECT_EQ(sizeof(CUpti_SubscriberParams), sizeof(SubscriberParams));
  else
    EXPECT_EQ(sizeof(CUpti_SubscriberParams), params_size(CUPTI_API_VERSION));
}

void nothing(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

// The real one, as far as it can be driven here: without a driver it refuses, and says so by a number.
TEST(Library, TheRealOneAnswers) {
  Subscription subscription = subscribe(&nothing);
  if (subscription.library.path == nullptr) GTEST_SKIP() << "no libcupti is found here";
  EXPECT_TRUE(subscription.library.usable());
  BoundedText text;
  describe(subscription, text);
  if (subscription.standing == Standing::active) {
    unsubscribe(subscription);
  } else {
    EXPECT_EQ(subscription.standing, Standing::refused) << text.text();
    EXPECT_NE(subscription.result, CUPTI_ERROR_INVALID_PARAMETER)
        << "its parameters have another size: " << text.text();
    EXPECT_NE(std::string(text.text()).find("refused, error "), std::string::npos);
  }
}

TEST(Library, EachRefusalHasItsWords) {
  for (const int result : {35, 39, 41, 42, 43, 44, 45, 999})
    EXPECT_EQ(std::string(meaning_of(static_cast<CUptiResult>(result))).find("does not know"),
              std::string::npos);
}

} // namespace
} // namespace memtrace::cupti
