// Purpose: a planted fault of the symbols gate: it calls what the allow-list does not name.
// expect: not on the allow-list: getppid
// flags: -fPIC -nostartfiles -nodefaultlibs -lc -Wl,-z,now
#include <unistd.h>
extern "C" int planted_entry() { return getppid(); }
