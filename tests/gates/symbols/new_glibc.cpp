// Purpose: a planted fault of the symbols gate: it needs a glibc above the floor.
// expect: above the floor
// flags: -fPIC -nostartfiles -nodefaultlibs -lc -Wl,-z,now
extern "C" int _dl_find_object(void*, void*);
extern "C" int planted_entry() { return _dl_find_object(nullptr, nullptr); }
