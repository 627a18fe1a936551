"""Purpose: the programs of the corpus that memtrace answers wrongly, with the reason. A test fails if one is right."""

KNOWN_WRONG = {
    "ema_keeps_two_copies": "the second copy is used, but only in the swap; a copy that is used is not a parameter-copy",
    "kernels_for_each_shape": "each kernel maps 256 KiB and touches a part; the finding counts what was mapped",
}

# Right or wrong from run to run, with the reason. Only the cause and the line are tested.
VARIES = {
    "list_read_by_workers": "the kernel's figure of what was copied is that of some instants",
}

# Twins that get a finding, and why it stays.
TWINS_WITH_A_FINDING = {
    "second_copy_of_weights": "page-cache-not-memory states a fact: the mended program maps its weights",
}
