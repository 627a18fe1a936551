// Room: tests.
// Job: a planted fault of the symbols gate: it calls what the allow-list does not name.
// expect: not on the allow-list: fopen
// flags: -fPIC -nostartfiles -nodefaultlibs -lc -Wl,-z,now
#include <cstdio>
extern "C" void* planted_entry() { return std::fopen("/dev/null", "r"); }
