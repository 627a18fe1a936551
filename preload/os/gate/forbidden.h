// Purpose: names that allocate, lock or print do not compile here; the gate on the library's symbols stands
// behind it. The last include of every hook file and of every file of the recorder that runs in a hook.
#pragma once

// NOLINTBEGIN: include guards of the poisoned names' headers must have been read before
#pragma GCC poison printf fprintf sprintf snprintf vsnprintf puts fputs fopen fclose fwrite
#pragma GCC poison strerror strdup strndup asprintf perror abort assert system popen
#pragma GCC poison pthread_mutex_lock pthread_create dl_iterate_phdr pthread_getattr_np
// NOLINTEND
