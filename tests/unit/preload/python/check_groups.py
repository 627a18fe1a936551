# Purpose: which name each process group has, and that the group of a collective is read.
# In a Python with PyTorch under the probe. PyTorch's own fake backend stands for 64 ranks.
import warnings

warnings.simplefilter("error", FutureWarning)  # some names of torch.distributed warn if they are touched
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch.distributed import distributed_c10d as c10d
from torch.testing._internal.distributed.fake_pg import FakeStore

import probe


def named():
    """The names of the last naming, by key. The groups are named at the end of a phase, if memory awaits a name."""
    probe.log()
    torch.nn.Linear(1, 1)(torch.zeros(1, 1))
    assert "groups" not in probe.log()
    probe.unnamed(True)
    torch.nn.Linear(1, 1)(torch.zeros(1, 1))
    probe.unnamed(False)
    lines = probe.log()
    assert lines.count("groups") == 1, lines
    pairs = [line.split(" ", 2)[1:] for line in lines if line.startswith("group ")]
    return {int(key): name for key, name in pairs}


def seen_in(module, name, call):
    """What the recorder reads where the collective calls a function of its module."""
    seen, inner = [], getattr(module, name)

    def asked(*args, **kwargs):
        seen.append(probe.local())
        return inner(*args, **kwargs)

    setattr(module, name, asked)
    try:
        call()
    finally:
        setattr(module, name, inner)
    return set(seen)


def names_have_ranks():
    groups = {
        'NCCL, group "tp" (ranks 0-7)': dist.new_group(list(range(8)), group_desc="tp"),
        'NCCL, group "dp" (ranks 0 to 56 by 8)': dist.new_group(list(range(0, 64, 8)), group_desc="dp"),
        'NCCL, group "odd" (ranks 0, 1, 4)': dist.new_group([0, 1, 4], group_desc="odd"),
        'NCCL, group "two" (ranks 0, 9)': dist.new_group([0, 9], group_desc="two"),
        'NCCL, group "alone" (rank 0)': dist.new_group([0], group_desc="alone"),
        'NCCL, group "many" (ranks 0, 1, 3, 4, 6, 7, 9, 10 and 2 more)':
            dist.new_group([i for i in range(15) if i % 3 != 2], group_desc="many"),
    }
    got = named()
    for name, group in groups.items():
        assert got[id(group)] == name, (name, got)
    whole = 'NCCL, group "default_pg" (ranks 0-63)'
    assert got[id(dist.group.WORLD)] == got[id(None)] == whole, got
    assert sorted(set(got.values())) == sorted([whole, *groups]), got


def equal_descriptions_are_told_apart():
    pair = [dist.new_group(ranks, group_desc="cp") for ranks in ([0, 1], [0, 2])]
    plain = dist.new_group([0, 3])
    got = named()
    texts = [got[id(group)] for group in pair]
    for group, ranks, text in zip(pair, ("ranks 0-1", "ranks 0, 2"), texts):
        assert text == 'NCCL, group "cp %s" (%s)' % (c10d._world.pg_names[group], ranks), text
    assert got[id(plain)] == 'NCCL, group "%s" (ranks 0, 3)' % c10d._world.pg_names[plain], got
    dist.destroy_process_group(pair[0])
    assert texts[0] not in named().values()


def collectives_are_read():
    group, ones = dist.new_group([0, 5], group_desc="read"), torch.ones(4)
    name = 'NCCL, group "read" (ranks 0, 5)'
    keys = {key for key, text in named().items() if text == name}
    assert id(group) in keys and len(keys) == 2, keys  # its object, and its name
    ask = (c10d, "_rank_not_in_group")
    assert seen_in(*ask, lambda: dist.all_reduce(ones, group=group)) == {id(group)}
    assert seen_in(*ask, lambda: dist.broadcast(ones, 0, group=group)) == {id(group)}
    assert seen_in(*ask, lambda: dist.barrier(group)) == {id(group)}
    gather = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
    assert seen_in(*ask, lambda: gather(torch.ones(8), ones, group)) == {id(group)}
    world = seen_in(*ask, lambda: dist.all_reduce(ones))
    assert world <= {id(None), id(dist.group.WORLD)} and world, world
    wrap = (functional, "_maybe_wrap_tensor")  # after the collective
    functional_keys = seen_in(*wrap, lambda: functional.all_reduce(ones, "sum", group).add(1))
    assert functional_keys and functional_keys <= keys, functional_keys
    # A group has its name before it has an object, while NCCL makes its communicator.
    assert seen_in(c10d, "_register_pg_in_world", lambda: dist.new_group([0, 6], group_desc="made")) <= {
        key for key, text in named().items() if "made" in text}


def main():
    dist.init_process_group("fake", rank=0, world_size=64, store=FakeStore())
    lines = probe.log()
    assert "groups" in lines, lines
    names_have_ranks()
    equal_descriptions_are_told_apart()
    collectives_are_read()
    dist.destroy_process_group()
    notes = [line for line in probe.log() if line.startswith("note python-")]
    assert not notes, notes
    print("groups: ok")


main()
