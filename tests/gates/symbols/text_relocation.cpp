// Purpose: a planted fault of the symbols gate: its code is patched at load.
// expect: text relocations
// flags: -fno-pic -mcmodel=large -Wl,-z,notext -Wno-attributes -nostartfiles -nodefaultlibs -lc -Wl,-z,now
extern "C" int getpid();
extern "C" int planted_entry() { return getpid(); }
