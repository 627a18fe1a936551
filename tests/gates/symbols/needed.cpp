// Purpose: a planted fault of the symbols gate: it needs a library beside libc.
// expect: DT_NEEDED
// flags: -fPIC -Wl,-z,now -Wl,--no-as-needed -lm
#include <unistd.h>
extern "C" int planted_entry() { return getpid(); }
