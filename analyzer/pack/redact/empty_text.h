// Purpose: removes the private bytes of a record.
#pragma once

#include "preload/format/event_fields.h"

namespace memtrace::redact {

// Makes the text of a record empty, and the name of a thread. It stays one record.
void empty_text(format::RingRecord& record);

} // namespace memtrace::redact
