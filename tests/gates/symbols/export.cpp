// Purpose: a planted fault of the symbols gate: it exports a name that the map does not have.
// expect: exported, but not in
// flags: -fPIC -nostartfiles -nodefaultlibs -lc -Wl,-z,now
extern "C" int stray_export() { return 0; }
