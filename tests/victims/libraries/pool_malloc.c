// Purpose: a library with a malloc of its own, which never frees. victim_old_hash loads it.
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { kBytes = 64 << 20, kAlign = 16 };
static char pool[kBytes] __attribute__((aligned(kAlign)));
static size_t used;

static size_t* size_of(void* block) {
  return (size_t*)block - 2;
}

static void* take(size_t align, size_t bytes) {
  if (bytes > kBytes || align > kBytes) {
    errno = ENOMEM;
    return NULL;
  }
  const size_t need = bytes + align + 2 * kAlign;
  const size_t at = __atomic_fetch_add(&used, (need + kAlign - 1) / kAlign * kAlign, __ATOMIC_RELAXED);
  if (at + need > kBytes) {
    errno = ENOMEM;
    return NULL;
  }
  void* const block = (void*)(((uintptr_t)pool + at + kAlign + align - 1) / align * align);
  *size_of(block) = bytes;
  return block;
}

void* malloc(size_t bytes) {
  return take(kAlign, bytes);
}
void free(void* block) {
  (void)block;
}
void* calloc(size_t count, size_t bytes) {
  return take(kAlign, count * bytes); // the pool is zero
}
void* realloc(void* block, size_t bytes) {
  void* const after = take(kAlign, bytes);
  if (after != NULL && block != NULL) memcpy(after, block, *size_of(block) < bytes ? *size_of(block) : bytes);
  return after;
}
void* aligned_alloc(size_t align, size_t bytes) {
  return take(align < kAlign ? kAlign : align, bytes);
}
void* memalign(size_t align, size_t bytes) {
  return aligned_alloc(align, bytes);
}
int posix_memalign(void** out, size_t align, size_t bytes) {
  *out = aligned_alloc(align, bytes);
  return *out != NULL ? 0 : ENOMEM;
}
size_t malloc_usable_size(void* block) {
  return block != NULL ? *size_of(block) : 0;
}

int is_of_pool(const void* block);
int is_of_pool(const void* block) {
  return (uintptr_t)block - (uintptr_t)pool < kBytes;
}
