// Purpose: makes the names of functions that allocate, lock or print fail to compile. A second gate checks the
// symbols of the library. This is the last include of each hook file, and of each recorder file that runs in a
// hook.
#pragma once

// NOLINTBEGIN: include guards of the poisoned names' headers must have been read before
#pragma GCC poison printf fprintf sprintf snprintf vsnprintf puts fputs fopen fclose fwrite
#pragma GCC poison strerror strdup strndup asprintf perror abort assert system popen
#pragma GCC poison pthread_mutex_lock pthread_create dl_iterate_phdr pthread_getattr_np
// NOLINTEND
