// Room: hooks.
#include <cstddef>
