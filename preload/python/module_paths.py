# Purpose: the path of each module in the models that the program calls, with equal layers under one name.
# Runs: inside the traced interpreter, before the first import of a framework.
"""See bootstrap.py for the rules, and for the names that are not defined here.

A path is as in `named_modules()`, without the wrappers of DistributedDataParallel, FSDP, torch.compile and their kin.
Neighbours in a list that are equal (one class, the same shapes inside) have one name: `*` if all of the list are equal,
else `3-60`. After the name follow the real indices, behind an 0x1F: the path of layers.7.mlp in a list of equal layers
is "layers.*.mlp\\x1f7". So the text tells modules apart, and its first part is what they have in common.
"""

_INDICES = "\x1f"
_MOST_MODULES = 30_000  # half of the table of record/model_modules.cpp
_WRAPPED = ("_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module")  # an attribute that is the module itself
_paths = {}  # id -> path, of the modules when they were named last


def _parts(module):
    """Returns the names and modules that `module` has."""
    return [(name, part) for name, part in vars(module).get("_modules", {}).items() if part is not None]


def _wrapped(module, outermost):
    """Returns the module that `module` wraps, or None. DataParallel and its kin are outermost, and call it `module`."""
    parts = _parts(module)
    for name, part in parts:
        if name in _WRAPPED or (outermost and name == "module" and len(parts) == 1):
            return part
    return None


def _likeness(module, known):
    """Returns a number that is the same for modules that are equal: in class, in shapes of parameters, in all parts."""
    key = id(module)
    if key not in known:
        known[key] = 0  # for a part that has this module
        shapes = []
        for name, parameter in vars(module).get("_parameters", {}).items():
            try:
                shapes.append((name, None if parameter is None else tuple(parameter.shape)))
            except Exception:  # a lazy module's, before its first forward
                shapes.append((name, None))
        parts = [(name, _likeness(part, known)) for name, part in _parts(module)]
        known[key] = hash((id(type(module)), tuple(shapes), tuple(parts)))
    return known[key]


def _shared_names(parts, known):
    """Returns the name of each part that has an index, with those of equal neighbours: `*`, or `3-60`."""
    listed = [(name, _likeness(part, known)) for name, part in parts if name.isdigit()]
    runs = []
    for name, likeness in listed:
        if runs and runs[-1][0] == likeness:
            runs[-1][1].append(name)
        else:
            runs.append((likeness, [name]))
    shared = {}
    for _, names in runs:
        if len(names) > 1:
            shared.update(dict.fromkeys(names, "*" if len(runs) == 1 else names[0] + "-" + names[-1]))
    return shared


def _name_parts(root, prefix, known):
    """Names the parts of `root`, outer ones first. Leaves out those that have a name."""
    left = [(root, prefix, ())]
    while left and len(_paths) < _MOST_MODULES:
        module, path, indices = left.pop()
        parts = _parts(module)
        shared = _shared_names(parts, known)
        for name, part in parts:
            if id(part) in _paths:
                continue
            inner, at = path, indices
            if name not in _WRAPPED:
                inner += (shared.get(name) or name) + "."
                at += (name,) if name in shared else ()
            _paths[id(part)] = inner[:-1] + (_INDICES + ".".join(at) if at else "")
            left.append((part, inner, at))


def _name_root(root, first, known):
    """Names a model by its class. The parts of the first one have their paths alone, those of others its name as well."""
    model, chain = root, []
    while model is not None and id(model) not in chain:
        chain.append(id(model))
        root, model = model, _wrapped(model, True)
    name = title = type(root).__name__
    number = 1
    while name in _paths.values():
        number += 1
        name = "%s-%d" % (title, number)
    for key in chain:
        _paths.setdefault(key, name)
    _name_parts(root, "" if first else name + ".", known)


def _ids_inside(root):
    """Returns the ids of all parts of a model. A part may have the model as its own part: that is not a part."""
    left, seen = [root], {id(root)}
    while left:
        for _, part in _parts(left.pop()):
            if id(part) not in seen:
                seen.add(id(part))
                left.append(part)
    return seen - {id(root)}


def _name_modules():
    """Names the modules of all models that live. A model that is a part of another one is named as this part."""
    roots = [root for root in _living() if _is_module(root)]
    inside, known = set(), {}
    for root in roots:
        inside |= _ids_inside(root)
    _paths.clear()
    first = True
    for root in roots:
        if id(root) not in inside and id(root) not in _paths:
            _name_root(root, first, known)
            first = first and not _parts(root)
    _memtrace.modules(_paths)
