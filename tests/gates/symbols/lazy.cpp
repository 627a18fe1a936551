// Purpose: a planted fault of the symbols gate: its calls are resolved inside hooks.
// expect: -z now
// flags: -fPIC -nostartfiles -nodefaultlibs -lc -Wl,-z,lazy
extern "C" int getpid();
extern "C" int planted_entry() { return getpid(); }
