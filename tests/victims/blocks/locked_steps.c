// Purpose: locked_steps LIBRARY WHAT SIZE COUNT [FAKE_C10]: runs COUNT pairs of a birth and a death under
// LIBRARY, one instruction at a time, and counts the locked instructions of LIBRARY by the memory that they
// change.
//
// WHAT: block (malloc and free), held (malloc alone), tensor, device (both of the fake libc10.so). It prints
// `ring N` (the ring file behind its first page: the slot of the thread), `process N` (that first page and the
// library's own data, which all threads share), `other N` and `steps N`. `at OFFSET N` is one line for each
// locked instruction that changed memory of the process.
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/user.h>
#include <sys/wait.h>

enum { kWarm = 3000, kPage = 4096, kSpans = 4096, kLongest = 16 };

// --- the program that is stepped through ---

struct Fake {
  void* (*tensor)(size_t);
  void (*drop)(void*);
  void (*device)(void*, int64_t, size_t, size_t, int);
};

static struct Fake fake_of(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(2);
  }
  struct Fake fake;
  *(void**)&fake.tensor = dlsym(library, "fake_c10_tensor");
  *(void**)&fake.drop = dlsym(library, "fake_c10_drop");
  *(void**)&fake.device = dlsym(library, "fake_c10_device_block");
  return fake;
}

static void pairs(const char* what, const struct Fake* fake, size_t size, long count) {
  for (long i = 0; i < count; ++i) {
    void* volatile block;
    if (*what == 'b' || *what == 'h') {
      block = malloc(size);
      if (*what == 'b') free(block);
    } else if (*what == 't') {
      block = fake->tensor(size);
      fake->drop(block);
    } else {
      fake->device((void*)(uintptr_t)0x7000000, (int64_t)size, size, size, 0);
      fake->device((void*)(uintptr_t)0x7000000, -(int64_t)size, 0, size, 0);
    }
  }
}

static int stepped(char** words) {
  const size_t size = strtoul(words[1], NULL, 10);
  struct Fake fake = {0};
  if (words[3] != NULL) fake = fake_of(words[3]);
  pairs(words[0], &fake, size, *words[0] == 'h' ? 0 : kWarm);
  raise(SIGUSR1);
  pairs(words[0], &fake, size, strtol(words[2], NULL, 10));
  raise(SIGUSR1);
  return 0;
}

// --- the one that steps ---

enum Area { kElsewhere, kCode, kOfProcess, kRing };
struct Span {
  uint64_t start, end, offset;
  enum Area area;
};
static struct Span spans[kSpans];
static size_t span_count = 0;
static uint8_t code[1 << 21];
static uint64_t code_start = 0, code_end = 0, library_start = 0;
static uint32_t times[sizeof code];

static void read_maps(pid_t child, const char* library) {
  char path[64], line[512];
  snprintf(path, sizeof path, "/proc/%d/maps", (int)child);
  FILE* const maps = fopen(path, "r");
  uint64_t library_end = 0;
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL && span_count < kSpans) {
    struct Span span = {0};
    char rights[8], name[400] = "";
    unsigned long long start, end, offset;
    if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %399[^\n]", &start, &end, rights, &offset, name) < 4) continue;
    span.start = start, span.end = end, span.offset = offset;
    if (strstr(name, ".rings") != NULL) span.area = kRing;
    if (strcmp(name, library) == 0 || (name[0] == 0 && start == library_end)) {
      if (library_start == 0) library_start = start;
      library_end = end;
      span.area = rights[2] == 'x' ? kCode : kOfProcess;
    }
    if (span.area == kCode) code_start = start, code_end = end;
    spans[span_count++] = span;
  }
  if (maps != NULL) fclose(maps);
  snprintf(path, sizeof path, "/proc/%d/mem", (int)child);
  FILE* const memory = fopen(path, "r");
  if (memory == NULL || code_start == 0 || code_end - code_start > sizeof code ||
      fseek(memory, (long)code_start, SEEK_SET) != 0 ||
      fread(code, 1, code_end - code_start, memory) != code_end - code_start) {
    fprintf(stderr, "the code of %s is not readable\n", library);
    exit(2);
  }
  fclose(memory);
}

static uint64_t value_of(const struct user_regs_struct* regs, unsigned number) {
  const unsigned long long all[] = {regs->rax, regs->rcx, regs->rdx, regs->rbx, regs->rsp, regs->rbp,
                                    regs->rsi, regs->rdi, regs->r8,  regs->r9,  regs->r10, regs->r11,
                                    regs->r12, regs->r13, regs->r14, regs->r15};
  return all[number & 15];
}

// Returns the bytes of the immediate operand that follows the address of a locked instruction.
static int immediate_of(const uint8_t* opcode, int word) {
  if (*opcode == 0x80 || *opcode == 0x83) return 1;
  if (*opcode == 0x81) return word ? 2 : 4;
  return opcode[0] == 0x0F && opcode[1] == 0xBA ? 1 : 0;
}

struct Prefixes {
  const uint8_t* end;
  int lock, word, thread;
  unsigned rex;
};

static struct Prefixes prefixes_of(const uint8_t* at) {
  struct Prefixes found = {at, 0, 0, 0, 0};
  for (;; ++found.end) {
    const uint8_t byte = *found.end;
    if (byte == 0xF0) {
      found.lock = 1;
    } else if (byte == 0x66) {
      found.word = 1;
    } else if (byte == 0x64) {
      found.thread = 1;
    } else if (byte != 0xF2 && byte != 0xF3) {
      break;
    }
  }
  if ((*found.end & 0xF0) == 0x40) found.rex = *found.end++;
  return found;
}

// Returns the address of the operand in memory: `p` is after the byte that gives its form. `rest`: the bytes of
// the instruction after the operand.
static uint64_t operand_address(const uint8_t* p, unsigned form, unsigned rex, uint64_t rest,
                                const struct user_regs_struct* regs, const uint8_t* at) {
  const unsigned mode = form >> 6, base = form & 7;
  int bytes = mode == 1 ? 1 : mode == 2 ? 4 : 0;
  uint64_t address = 0;
  if (base == 4) {
    const unsigned sib = *p++, index = ((sib >> 3) & 7) | ((rex & 2) << 2);
    if (index != 4) address += value_of(regs, index) << (sib >> 6);
    if ((sib & 7) == 5 && mode == 0) bytes = 4;
    if ((sib & 7) != 5 || mode != 0) address += value_of(regs, (sib & 7) | ((rex & 1) << 3));
  } else if (base == 5 && mode == 0) {
    bytes = 4;
    address += regs->rip + (uint64_t)(p - at) + 4 + rest;
  } else {
    address += value_of(regs, base | ((rex & 1) << 3));
  }
  int32_t shift = 0;
  if (bytes == 1) shift = (int8_t)*p;
  if (bytes == 4) memcpy(&shift, p, 4);
  return address + (uint64_t)(int64_t)shift;
}

// Returns the address that the locked instruction at `at` changes, or 0 if it is not locked. An exchange with
// memory is locked without a prefix.
static uint64_t locked_address(const uint8_t* at, const struct user_regs_struct* regs) {
  const struct Prefixes before = prefixes_of(at);
  const uint8_t* const opcode = before.end;
  const uint8_t* const form = opcode + (*opcode == 0x0F ? 2 : 1);
  if ((!before.lock && (*opcode & 0xFE) != 0x86) || *form >> 6 == 3) return 0;
  const uint64_t rest = (uint64_t)immediate_of(opcode, before.word);
  return (before.thread ? regs->fs_base : 0) + operand_address(form + 1, *form, before.rex, rest, regs, at);
}

static enum Area area_of(uint64_t address) {
  for (size_t i = 0; i < span_count; ++i) {
    const struct Span* const span = &spans[i];
    if (address < span->start || address >= span->end) continue;
    if (span->area == kRing && span->offset + (address - span->start) < kPage) return kOfProcess;
    return span->area;
  }
  return kElsewhere;
}

static void wait_for_mark(pid_t child) {
  for (int status;;) {
    if (waitpid(child, &status, 0) < 0 || !WIFSTOPPED(status)) {
      fprintf(stderr, "the program ended before its mark\n");
      exit(2);
    }
    if (WSTOPSIG(status) == SIGUSR1) return;
    ptrace(PTRACE_CONT, child, 0, WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status));
  }
}

static void step_to_mark(pid_t child) {
  unsigned long long counts[kRing + 1] = {0}, steps = 0;
  for (int status = 0; !(WIFSTOPPED(status) && WSTOPSIG(status) == SIGUSR1); ++steps) {
    struct user_regs_struct regs;
    if (ptrace(PTRACE_GETREGS, child, 0, &regs) != 0) exit(2);
    const uint64_t at = regs.rip - code_start;
    if (regs.rip >= code_start && regs.rip + kLongest < code_end) {
      const uint64_t address = locked_address(code + at, &regs);
      if (address != 0) ++counts[area_of(address)];
      if (address != 0 && area_of(address) == kOfProcess) ++times[at];
    }
    if (ptrace(PTRACE_SINGLESTEP, child, 0, 0) != 0 || waitpid(child, &status, 0) < 0 || !WIFSTOPPED(status))
      exit(2);
  }
  printf("ring %llu\nprocess %llu\nother %llu\nsteps %llu\n", counts[kRing], counts[kOfProcess],
         counts[kElsewhere], steps);
  for (size_t i = 0; i < sizeof code; ++i)
    if (times[i] != 0) printf("at %llx %u\n", (unsigned long long)(code_start + i - library_start), times[i]);
}

int main(int count, char** words) {
  if (count >= 5 && strcmp(words[1], "stepped") == 0) return stepped(words + 2);
  if (count < 5 || count > 6) return 2;
  const pid_t child = fork();
  if (child == 0) {
    char* const again[] = {words[0], "stepped", words[2], words[3], words[4], count == 6 ? words[5] : NULL,
                           NULL};
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    setenv("LD_PRELOAD", words[1], 1);
    execv("/proc/self/exe", again);
    _exit(2);
  }
  wait_for_mark(child);
  read_maps(child, words[1]);
  step_to_mark(child);
  ptrace(PTRACE_KILL, child, 0, 0);
  return 0;
}
