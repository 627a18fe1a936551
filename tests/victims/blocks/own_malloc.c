// Purpose: uses its own malloc for a while: blocks of brk and __libc_malloc, freed by other functions.
// A victim: its output must be the same with and without the tracer.
#define _GNU_SOURCE
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

extern void* __libc_malloc(size_t);
extern void __libc_free(void*);

int main(void) {
  void* foreign = __libc_malloc(30000); // its allocation is not recorded, the hook frees it
  free(foreign);
  void* ours = malloc(30000); // its allocation is recorded, its free is not; the address is reused
  __libc_free(ours);
  ours = malloc(30000);
  free(ours);
  char* line = NULL;
  size_t room = 0;
  FILE* zeros = fopen("/proc/self/stat", "r");
  ssize_t got = getline(&line, &room, zeros);
  fclose(zeros);
  free(line);
  char* text = NULL;
  int length = asprintf(&text, "%0*d", 20000, 7);
  free(text);
  text = strdup("copied by libc");
  wchar_t* wide = wcsdup(L"wide");
  char* path = realpath("/proc/../", NULL);
  printf("%d %d %s %d %s\n", got > 0, length, text, (int)wcslen(wide), path);
  free(text);
  free(wide);
  free(path);
  printf("trim %d\n", malloc_trim(0) >= 0);
  return 0;
}
