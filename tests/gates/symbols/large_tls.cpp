// Purpose: a planted fault of the symbols gate: more thread-local storage than a preloaded object may take.
// expect: bytes of TLS
// flags: -fPIC -ftls-model=initial-exec -nostartfiles -nodefaultlibs -lc -Wl,-z,now
static thread_local volatile char words[8192];
extern "C" int planted_entry() { return ++words[1]; }
