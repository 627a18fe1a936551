// Purpose: subscribe to the driver's calls, politely: one may, and it may be somebody else.
// Runs: outside callbacks.
#pragma once

#include "cupti/library.h"

namespace memtrace::cupti {

enum class Standing : unsigned char {
  none,    // no libcupti, or one without the functions that are needed
  refused, // it gave an error
  held,    // another tool is the subscriber
  active,
};

struct Subscription {
  Standing standing = Standing::none;
  Library library{};
  CUptiResult result = CUPTI_SUCCESS; // what the last call said, where it said no
  char holder[64] = {};               // who subscribed before us; empty: CUPTI does not say
  unsigned unknown = 0;               // driver calls that this CUPTI has no callback for
  CUpti_SubscriberHandle handle = nullptr;
};

// Opens libcupti, subscribes `callback` and enables the calls of translate.h, modules and contexts, one by one.
// Leaves nothing behind where that fails.
Subscription subscribe(CUpti_CallbackFunc callback);
void unsubscribe(Subscription& subscription);

// The subscription of this process: that of `callback` in callback.cpp. For contexts.h.
void keep(const Subscription& subscription);
int ask_device(CUcontext context);

// One line: `active, libcupti.so.13 (130001)`, `held by NAME`, ...
class BoundedText;
void describe(const Subscription& subscription, BoundedText& out);

} // namespace memtrace::cupti
