// A planted fault.
