// Purpose: what the fake CUPTI's callbacks and its records of activities ask of each other.
#pragma once

extern "C" {
// From now on the fake driver's calls are seen.
void fake_cupti_observe();
// Called at each; only where records are built in (tests/cuda_node).
[[gnu::weak]] void fake_cupti_record(int site, const char* name);
}
