// Purpose: a planted fault: it does not say on which thread it runs.
#include <cstddef>
