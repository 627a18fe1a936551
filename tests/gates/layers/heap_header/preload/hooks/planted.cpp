// Purpose: a planted fault: a header that allocates.
#include <vector>
