// Purpose: a planted fault of the symbols gate: it asks for an executable stack.
// expect: executable stack
// flags: -fPIC -Wl,-z,execstack -nostartfiles -nodefaultlibs -lc -Wl,-z,now
extern "C" int planted_entry() { return 0; }
