// Purpose: a planted fault of the symbols gate: thread-local storage by the general model.
// expect: initial-exec
// flags: -fPIC -nostartfiles -nodefaultlibs -lc -Wl,-z,now
extern "C" {
thread_local int planted_word = 0;
int planted_entry() { return ++planted_word; }
}
