// Purpose: subscribes to the driver's calls. Only one subscriber is allowed, and another tool may hold the
// place.
// Runs: outside callbacks.
#pragma once

#include "cupti/library.h"

namespace memtrace::cupti {

enum class Standing : unsigned char {
  none,    // no libcupti, or one without the required functions
  refused, // CUPTI returned an error
  held,    // another tool is the subscriber
  active,
};

struct Subscription {
  Standing standing = Standing::none;
  Library library{};
  CUptiResult result = CUPTI_SUCCESS; // the result of the last call, if it failed
  char holder[64] = {};               // the earlier subscriber; empty: CUPTI does not name it
  unsigned unknown = 0;               // driver calls for which this CUPTI has no callback
  CUpti_SubscriberHandle handle = nullptr;
};

// Opens libcupti, subscribes `callback` and enables the calls of translate.h, modules and contexts, one by one.
// If that fails, no subscription is left.
Subscription subscribe(CUpti_CallbackFunc callback);
void unsubscribe(Subscription& subscription);

// Stores the library of this process's subscription (that of `callback` in callback.cpp), for contexts.h.
void keep(const Subscription& subscription);
int ask_device(CUcontext context);

// Writes one line: `active, libcupti.so.13 (130001)`, `held by NAME`, ...
class BoundedText;
void describe(const Subscription& subscription, BoundedText& out);

} // namespace memtrace::cupti
