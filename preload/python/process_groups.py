# Purpose: the name of each process group, for the device memory that NCCL takes for it.
# Runs: inside the traced interpreter, before the first import of a framework.
"""See bootstrap.py for the rules, and for the names that are not defined here.

The recorder reads the group from a local variable of the collective that runs. So no collective has a wrapper: dynamo
knows them by their function objects.
"""

_GROUP_VARIABLES = ("group_name", "group", "process_group", "pg")  # the first one that a function has
_MOST_GROUPS = 120  # half of the table of record/process_groups.cpp: each has an object and a name
_MOST_RANKS = 8  # that a name lists one by one
_group_codes = []  # the recorder knows them by their addresses, so they must live


def _innermost_code(call):
    """Returns the code object below the decorators of a function."""
    for _ in range(8):
        call, outer = getattr(call, "__wrapped__", None), call
        if call is None:
            return getattr(outer, "__code__", None)
    return None


def _group_calls(module):
    """Tells the recorder which functions of the module have a process group in a local variable."""
    for call in list(vars(module).values()):
        own = type(call) is type(_group_calls) and call.__module__ == module.__name__
        code = _innermost_code(call) if own else None
        for name in _GROUP_VARIABLES if code is not None else ():
            if name in code.co_varnames and name not in code.co_cellvars:
                _group_codes.append(code)
                _memtrace.group_call(code, code.co_varnames.index(name), str)
                break


def _ranks_text(ranks):
    """Returns "rank 2", "ranks 0-3", "ranks 0 to 24 by 8", "ranks 0, 1, 5"."""
    if len(ranks) == 1:
        return "rank %d" % ranks[0]
    steps = {after - before for before, after in zip(ranks, ranks[1:])}
    if steps == {1}:
        return "ranks %d-%d" % (ranks[0], ranks[-1])
    if len(steps) == 1 and len(ranks) > 2:
        return "ranks %d to %d by %d" % (ranks[0], ranks[-1], steps.pop())
    more = " and %d more" % (len(ranks) - _MOST_RANKS) if len(ranks) > _MOST_RANKS else ""
    return "ranks " + ", ".join(map(str, ranks[:_MOST_RANKS])) + more


def _group_text(world, group, name, described):
    """Returns 'NCCL, group "tp" (ranks 0-3)'. A description that several groups have is followed by the group's name."""
    title = str(getattr(group, "group_desc", "") or "")
    if title in ("", "undefined"):
        title = str(name)
    elif described.count(title) > 1:
        title += " " + str(name)
    ranks = sorted(world.pg_group_ranks.get(group) or ())
    return 'NCCL, group "%s"%s' % (title[:100], " (%s)" % _ranks_text(ranks) if ranks else "")


def _name_groups():
    """Names the groups that live, by their objects and by their names. None means the default group."""
    try:
        world = sys.modules["torch.distributed.distributed_c10d"]._world
        groups = list(world.pg_names.items())[:_MOST_GROUPS]
        described = [str(getattr(group, "group_desc", "")) for group, _ in groups]
        names = {}
        for group, name in groups:
            text = _group_text(world, group, name, described)
            names[id(group)] = text
            names[str(name)] = text
            if group is world.default_pg:
                names[id(None)] = text
        _memtrace.groups(names)
    except Exception as error:
        _memtrace.note("python-groups=%r" % (error,))
