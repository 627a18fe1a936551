// Purpose: a planted fault of the symbols gate: it needs the C++ runtime.
// expect: C++ runtime: _Znwm
// flags: -fPIC -nostartfiles -nodefaultlibs -lc -Wl,-z,now
extern "C" int* planted_entry() { return new int; }
