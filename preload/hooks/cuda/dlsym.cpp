// Purpose: hooks of the lookups by name: dlsym, dlvsym, cuGetProcAddress, cudaGetDriverEntryPoint. If a hooked
// CUDA function is loaded, they return memtrace's hook. If it is not loaded, they return null.
// Runs: on the program's thread, when it looks a function up by name.
#include <dlfcn.h>

#include "preload/api/export.h"
#include "preload/hooks/cuda/function_table.h"
#include "preload/hooks/cuda/types.h"
#include "preload/hooks/symbols/real_lookups.h"
#include "preload/state/recorder_state.h"

#include "preload/os/gate/forbidden.h"

namespace memtrace::hooks {
namespace {

// Returned in two registers, which the assembler below reads.
struct SymbolAnswer {
  void* value;
  std::uint64_t given; // 0: the assembler jumps to the real function, which sees the program as its caller
};
constexpr SymbolAnswer kNotOurs = {nullptr, 0};

// Returns null, with dlerror set.
SymbolAnswer missing(const char* name, const char* version) {
  return {version != nullptr ? memtrace_real_dlvsym(RTLD_NEXT, name, version) : real_dlsym(RTLD_NEXT, name), 1};
}

SymbolAnswer answer(void* handle, const char* name, const char* version) {
  record::active(); // the start hides the names that are absent here
  find_real_lookups();
  if (memtrace_real_dlsym == nullptr) return {look_up_without_loader(handle, name), 1};
  const cuda::Hooked* const function = cuda::hidden() ? nullptr : cuda::named(name);
  if (function == nullptr) return kNotOurs;
  void* const real = cuda::real_of(*function);
  if (real == nullptr) { // the handle's own library may define such a name
    void* const found = handle == RTLD_DEFAULT || handle == RTLD_NEXT ? nullptr : real_dlsym(handle, name);
    return found != nullptr && found != cuda::hook_of(*function) ? kNotOurs : missing(name, version);
  }
  if (handle == RTLD_NEXT) return kNotOurs; // the next definition depends on the caller
  if (handle == RTLD_DEFAULT && version == nullptr) return {cuda::hook_of(*function), 1};
  void* const found =
      version != nullptr ? memtrace_real_dlvsym(handle, name, version) : real_dlsym(handle, name);
  return {found == real ? cuda::hook_of(*function) : found, 1};
}

} // namespace

} // namespace memtrace::hooks

extern "C" __attribute__((visibility("hidden"), used)) memtrace::hooks::SymbolAnswer memtrace_look_up(
    void* handle, const char* name, const char* version) {
  return memtrace::hooks::answer(handle, name, version);
}

// The result of dlsym depends on its caller (RTLD_NEXT, RTLD_DEFAULT). So the code jumps to the real one, which
// then sees the program's return address. Names that do not begin with "cu" take that path at once.
asm(R"(
  .text
  .globl dlsym
  .type dlsym, @function
dlsym:
  .cfi_startproc
  movq memtrace_real_dlsym(%rip), %rax
  testq %rax, %rax
  je 1f
  cmpb $99, (%rsi)    # c
  jne 2f
  cmpb $117, 1(%rsi)  # u
  jne 2f
1:
  subq $24, %rsp
  .cfi_adjust_cfa_offset 24
  movq %rdi, (%rsp)
  movq %rsi, 8(%rsp)
  xorl %edx, %edx
  call memtrace_look_up
  movq (%rsp), %rdi
  movq 8(%rsp), %rsi
  addq $24, %rsp
  .cfi_adjust_cfa_offset -24
  testq %rdx, %rdx
  jne 3f
  movq memtrace_real_dlsym(%rip), %rax
2:
  jmp *%rax
3:
  ret
  .cfi_endproc
  .size dlsym, .-dlsym

  .globl dlvsym
  .type dlvsym, @function
dlvsym:
  .cfi_startproc
  subq $40, %rsp
  .cfi_adjust_cfa_offset 40
  movq %rdi, (%rsp)
  movq %rsi, 8(%rsp)
  movq %rdx, 16(%rsp)
  call memtrace_look_up
  movq (%rsp), %rdi
  movq 8(%rsp), %rsi
  testq %rdx, %rdx
  movq 16(%rsp), %rdx
  leaq 40(%rsp), %rsp
  .cfi_adjust_cfa_offset -40
  jne 4f
  jmp *memtrace_real_dlvsym(%rip)
4:
  ret
  .cfi_endproc
  .size dlvsym, .-dlvsym
)");

namespace {

namespace cuda = memtrace::hooks::cuda;
using cuda::Function;

using GetOldProcAddress = int(const char*, void**, int, std::uint64_t);
using GetProcAddress = int(const char*, void**, int, std::uint64_t, int*);
using GetEntryPoint = int(const char*, void**, unsigned long long, int*);
using GetEntryPointByVersion = int(const char*, void**, unsigned, unsigned long long, int*);

// If a call gives no version, the runtime uses the meaning that names have in its own version.
int runtime_version() {
  static constinit int version = 0;
  if (version != 0) return version;
  int known = 0;
  if (auto* const ask = reinterpret_cast<int (*)(int*)>(cuda::of_runtime("cudaRuntimeGetVersion"));
      ask != nullptr)
    ask(&known);
  return version = known;
}

void replace(int result, const char* name, void** out, int version, std::uint64_t flags) {
  if (result == 0 && name != nullptr && out != nullptr) *out = cuda::stands_for(name, version, flags, *out);
}

int entry(Function function, const char* name, void** out, unsigned long long flags, std::uint64_t more,
          int* status) {
  auto* const real = cuda::real<GetEntryPoint>(function);
  if (real == nullptr) return cuda::kNoDriver;
  const int result = real(name, out, flags, status);
  replace(result, name, out, runtime_version(), flags | more);
  return result;
}
int entry_by_version(Function function, const char* name, void** out, unsigned version,
                     unsigned long long flags, std::uint64_t more, int* status) {
  auto* const real = cuda::real<GetEntryPointByVersion>(function);
  if (real == nullptr) return cuda::kNoDriver;
  const int result = real(name, out, version, flags, status);
  replace(result, name, out, static_cast<int>(version), flags | more);
  return result;
}

} // namespace

EXPORT int cuGetProcAddress(const char* name, void** out, int version, std::uint64_t flags) {
  auto* const real = cuda::real<GetOldProcAddress>(Function::cuGetProcAddress);
  if (real == nullptr) return cuda::kNotFound;
  const int result = real(name, out, version, flags);
  replace(result, name, out, version, flags);
  return result;
}
EXPORT int cuGetProcAddress_v2(const char* name, void** out, int version, std::uint64_t flags, int* status) {
  auto* const real = cuda::real<GetProcAddress>(Function::cuGetProcAddress_v2);
  if (real == nullptr) return cuda::kNotFound;
  const int result = real(name, out, version, flags, status);
  replace(result, name, out, version, flags);
  return result;
}

// Up to CUDA 11 it had three arguments. The fourth is passed on unread.
EXPORT int cudaGetDriverEntryPoint(const char* name, void** out, unsigned long long flags, int* status) {
  return entry(Function::cudaGetDriverEntryPoint, name, out, flags, 0, status);
}
EXPORT int cudaGetDriverEntryPoint_ptsz(const char* name, void** out, unsigned long long flags, int* status) {
  return entry(Function::cudaGetDriverEntryPoint_ptsz, name, out, flags, cuda::kPerThreadStream, status);
}
EXPORT int cudaGetDriverEntryPointByVersion(const char* name, void** out, unsigned version,
                                            unsigned long long flags, int* status) {
  return entry_by_version(Function::cudaGetDriverEntryPointByVersion, name, out, version, flags, 0, status);
}
EXPORT int cudaGetDriverEntryPointByVersion_ptsz(const char* name, void** out, unsigned version,
                                                 unsigned long long flags, int* status) {
  return entry_by_version(Function::cudaGetDriverEntryPointByVersion_ptsz, name, out, version, flags,
                          cuda::kPerThreadStream, status);
}
