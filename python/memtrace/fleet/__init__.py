# Purpose: the figures of many ranks as files of Parquet. docs/export.md describes them.
"""Files of Parquet with the figures of many ranks."""
