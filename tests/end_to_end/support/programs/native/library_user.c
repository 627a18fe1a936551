/* Purpose: a program whose memory comes from a library of its own. */
#include <signal.h>
#include <string.h>

char* fill_private_buffer(size_t bytes);

int main(int count, char** arguments) {
  char* const held = fill_private_buffer(9 << 20);
  char* const more = fill_private_buffer(5 << 20);
  if (count > 1 && strcmp(arguments[1], "--killed") == 0) raise(SIGKILL);
  return held == more;
}
