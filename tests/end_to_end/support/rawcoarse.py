"""Purpose: reads a STEM.coarse by preload/format/rollup_layout.h alone. It shares no code with the recorder or
the analyzer."""
import struct
from collections import namedtuple

HEADER = struct.Struct("<8sHHIQQQQQ")
HALF = struct.Struct("<QQQQII")
PHASE = struct.Struct("<QQIBBH38q")
SITE = struct.Struct("<QIIBBHIQQQQ")
PAGE = 4096
NO_STEP = (1 << 64) - 1
FIGURES = [f"{measure}_{figure}" for measure in ("live", "tensor", "reserved")
           for figure in ("entry", "exit", "peak", "transient", "net")] + ["allocated", "freed", "allocations", "count"]

Coarse = namedtuple("Coarse", "coarsened own_bytes phase_width site_width first_step last_step phases sites")
Phase = namedtuple("Phase", "bucket steps path memory skipped max min")
Site = namedtuple("Site", "bucket path stack kind memory flags count sum min max")


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    magic, version, _, active, _, half_bytes, coarsened, _, own_bytes = HEADER.unpack_from(data, 0)
    if magic != b"MTCOAR\x02\n" or version != 3:
        raise ValueError(f"{path}: {magic} {version}")
    at = PAGE + active * half_bytes
    phase_width, site_width, first, last, phase_capacity, site_capacity = HALF.unpack_from(data, at)
    at += HALF.size
    phases, sites = [], []
    for i in range(phase_capacity):
        bucket, steps, path, memory, skipped, _, *figures = PHASE.unpack_from(data, at + i * PHASE.size)
        if steps:
            phases.append(Phase(bucket, steps, path, memory, skipped, dict(zip(FIGURES, figures[0::2])),
                                dict(zip(FIGURES, figures[1::2]))))
    at += phase_capacity * PHASE.size
    for i in range(site_capacity):
        bucket, path, stack, kind, memory, flags, _, count, total, least, most = SITE.unpack_from(
            data, at + i * SITE.size)
        if count:
            sites.append(Site(bucket, path, stack, kind, memory, flags, count, total, least, most))
    return Coarse(coarsened, own_bytes, phase_width, site_width, first, last, phases, sites)
