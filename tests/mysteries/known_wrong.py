"""Purpose: the programs of the corpus that memtrace answers wrongly, with the reason. A test fails if one is right."""

KNOWN_WRONG = {
    "growing_kv_cache": "torch.cat makes the cache anew in each turn, so no block stays: no finding follows its size",
    "ema_keeps_two_copies": "the second copy is used, but only in the swap; a copy that is used is no parameter-copy",
    "context_on_first_gpu": "the trace has no stack of the birth of a context",
    "list_read_by_workers": "imports of the first batch are copied, too; the highest ledger may be an early one",
    "shard_readers_in_workers": "imports of the first batch are copied, too",
}

# Twins that get a finding, and why it stays.
TWINS_WITH_A_FINDING = {
    "second_copy_of_weights": "page-cache-not-memory states a fact: the mended program maps its weights",
}
