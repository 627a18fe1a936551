// Purpose: a library whose constructor puts copies in the place of the arguments, to get room for a title in
// the list of processes. victim_replaced_arguments loads it.
#include <string.h>

enum { kMost = 8, kBytes = 64 };
static char texts[kMost][kBytes];

int replaced_arguments(void);
int replaced_arguments(void) {
  int count = 0;
  while (count < kMost && texts[count][0] != '\0') ++count;
  return count;
}

__attribute__((constructor)) static void replace(int count, char** arguments) {
  for (int i = 1; i < count && i <= kMost; ++i) {
    strncpy(texts[i - 1], arguments[i], kBytes - 1);
    arguments[i] = texts[i - 1];
  }
}
