// Purpose: a planted fault of the symbols gate: a sanitizer's runtime stands before what it calls, allowed or not.
// expect: a sanitizer stands before it: strlen
// flags: -fPIC -nostartfiles -nodefaultlibs -fno-builtin -lc -Wl,-z,now
#include <cstring>
extern "C" unsigned long planted_entry(const char* text) { return std::strlen(text); }
