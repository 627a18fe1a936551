// Purpose: a planted fault of the symbols gate: more than its one constructor runs at load.
// expect: functions run at load
// flags: -fPIC -nostartfiles -nodefaultlibs -lc -Wl,-z,now
#define RUNS(n) __attribute__((constructor)) static void n() { asm volatile(""); }
RUNS(a) RUNS(b) RUNS(c) RUNS(d) RUNS(e)
extern "C" int planted_entry() { return 0; }
