# Purpose: the figures of many ranks as files of Parquet, and queries over them. docs/export.md and docs/fleet.md.
"""Files of Parquet with the figures of many ranks, and queries over them."""
