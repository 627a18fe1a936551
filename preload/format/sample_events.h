// Purpose: the fields of the samples, which the kernel, a driver or memtrace measured. Figures are bytes unless
// the name or the comment says otherwise. kNotSaid: the kernel does not report the figure, or there is no
// limit.
#pragma once

#include "preload/format/records.h"

namespace memtrace::format {

struct SampleProcessEvent {
  static constexpr EventType kType = EventType::sample_process;
  std::uint64_t anon; // parts of VmRSS
  std::uint64_t file;
  std::uint64_t shmem;
  std::uint64_t high_water; // VmHWM
  std::uint64_t swap;
  std::uint64_t page_tables;
};

// The low byte of the flags is the level: 0 is the process's own cgroup, 1 its parent.
struct SampleCgroupEvent {
  static constexpr EventType kType = EventType::sample_cgroup;
  TextId path;
  std::uint32_t unused;
  std::uint64_t charge;
  std::uint64_t limit;
  std::uint64_t anon;
  std::uint64_t file; // page cache, shmem included
  std::uint64_t oom_kills;
};

// More figures about the charge of the sample_cgroup before it.
struct SampleChargeEvent {
  static constexpr EventType kType = EventType::sample_charge;
  std::uint64_t shmem;
  std::uint64_t kernel; // page tables included
  std::uint64_t swap;
  std::uint64_t hugetlb;
  std::uint64_t page_tables;
  std::uint64_t dirty; // file pages that must be written first
};

struct SampleLimitsEvent {
  static constexpr EventType kType = EventType::sample_limits;
  std::uint64_t high;      // memory.high
  std::uint64_t swap;      // cgroup v1: the limit of memory and swap together
  std::uint64_t highest;   // highest charge so far
  std::uint64_t met;       // how often the limit was met; cgroup v1: failcnt
  std::uint32_t kills_all; // memory.oom.group: 0 or 1; 2: not reported
  std::uint32_t unused;
  std::uint64_t ooms; // how often the cgroup was out of memory
};

// PSI of memory. avg10 and avg60 are hundredths of a percent.
struct SamplePressureEvent {
  static constexpr EventType kType = EventType::sample_pressure;
  struct Stall {
    std::uint32_t avg10;
    std::uint32_t avg60;
    std::uint64_t total_us;
  };
  Stall some;
  Stall full;
};

// The other fields of a sample_pressure whose level is kCountsOfLevel + a level, or kCountsOfProcess. These
// levels are of no cgroup, so an older reader ignores the record. Counts since the cgroup or the process began.
struct SampleWaitsEvent {
  static constexpr EventType kType = EventType::sample_pressure;
  std::uint32_t throttled; // how often memory.high delayed a task
  std::uint32_t unused0;
  std::uint64_t refaulted_pages;  // of files: evicted and read again
  std::uint32_t swapped_in_pages; // of anonymous memory: evicted and read again
  std::uint32_t unused1;
  std::uint64_t major_faults;
};

// The other fields of a sample_pressure whose level is kFirstLevel + a NUMA node: the bytes of the process's
// own cgroup there.
struct SampleNumaEvent {
  static constexpr EventType kType = EventType::sample_pressure;
  static constexpr std::uint16_t kFirstLevel = 0xC0;
  static constexpr unsigned kMostNodes = 61; // the levels below kCountsOfProcess
  std::uint64_t unused0;
  std::uint64_t anon;
  std::uint64_t unused1;
  std::uint64_t file; // page cache, shmem included
};

struct SampleMachineEvent {
  static constexpr EventType kType = EventType::sample_machine;
  std::uint64_t total;
  std::uint64_t available;
  std::uint64_t swap_total;
  std::uint64_t swap_free;
  std::uint64_t dev_shm_used;
  std::uint64_t dev_shm_total;
};

// The use of the machine's memory. This record follows sample_machine.
struct SampleNodeEvent {
  static constexpr EventType kType = EventType::sample_node;
  std::uint64_t free;
  std::uint64_t anon;
  std::uint64_t page_cache;      // shmem included
  std::uint32_t shmem_pages;     // of kPage bytes
  std::uint32_t unwritten_pages; // Dirty and Writeback
  std::uint64_t kernel;          // Slab, KernelStack, Percpu
  std::uint32_t page_table_pages;
  std::uint32_t hugetlb_pages; // also of kPage bytes
};

struct SampleAddressSpaceEvent {
  static constexpr EventType kType = EventType::sample_address_space;
  std::uint64_t size; // VmSize
  std::uint64_t size_limit;
  std::uint64_t data; // VmData
  std::uint64_t data_limit;
  std::uint64_t locked; // VmLck
  std::uint64_t locked_limit;
};

struct SampleDeviceEvent {
  static constexpr EventType kType = EventType::sample_device;
  std::uint64_t used_by_process;
  std::uint64_t used; // by all processes
  std::uint64_t total;
  std::uint64_t used_by_others;
  std::uint64_t code;            // cubins loaded so far: at least this much is code
  std::uint64_t other_processes; // number of these processes
};

// A ledger of the process's RSS. Its rows follow, each a sample_resident.
struct SampleLedgerEvent {
  static constexpr EventType kType = EventType::sample_ledger;
  std::uint64_t resident; // VmRSS
  std::uint64_t high_water;
  std::uint64_t swap;
  std::uint64_t drift;     // came and went during the measurement, or since the allocator was queried
  std::uint32_t cost_us;   // of CPU
  std::uint32_t paused_us; // total time for which ledgers paused threads of the program
  Stamp taken;
};

struct SampleResidentEvent {
  static constexpr EventType kType = EventType::sample_resident;
  std::uint64_t resident;
  std::uint64_t given; // whether resident or not
  std::uint64_t parts; // number of blocks or mappings
};

// smaps_rollup of a process that forked or was forked.
struct SampleShareEvent {
  static constexpr EventType kType = EventType::sample_share;
  std::uint64_t rss;
  std::uint64_t pss;
  std::uint64_t pss_anon;
  std::uint64_t pss_file;
  std::uint64_t pss_shmem;
  std::uint64_t private_dirty;
};

// The resident part of a large block.
struct SampleTouchedEvent {
  static constexpr EventType kType = EventType::sample_touched;
  std::uint64_t address;
  Stamp birth;
  std::uint64_t given;
  std::uint64_t resident;
  Stamp looked_before; // stamp of the scan before this one, or of the birth
};

} // namespace memtrace::format
