// Room: hooks.
// Job: a planted fault: it says it is elsewhere.
