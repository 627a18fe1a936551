# Purpose: the wrappers around training: checkpoints, loaders, process groups, engines, generation.
# Runs: inside the traced interpreter, before bootstrap.py.
"""See bootstrap.py for the rules, and for the names that are not defined here."""


def _save(module):
    save = _marked("save", module.save)

    @wraps(save)
    def wrapper(*args, **kwargs):
        if not is_compiling():
            _within_means(lambda: _label_saved(args[0] if args else kwargs.get("obj")))
        return save(*args, **kwargs)

    _replace(module, "save", wrapper)


def _saves(module):
    for name in ("save", "async_save"):
        _replace(module, name, _marked("save", getattr(module, name)))


def _load_shards(module):
    _replace(module, "load", _loads(module.load))


def _loader_next(module):
    cls = module._BaseDataLoaderIter
    cls.__next__ = _marked("data", cls.__next__)


def _worker_loop(module):
    # All that a worker process does. It is pickled by name under spawn, which finds the wrapper by that name.
    loop = _marked("data", module._worker_loop)

    @wraps(loop)
    def worker(*args, **kwargs):
        _memtrace.note("kind=worker")  # it inherits RANK, by which it would be taken for a rank
        _repeat_notes()
        return loop(*args, **kwargs)

    _replace(module, "_worker_loop", worker)


def _process_group(module):
    init = _marked("init", module.init_process_group)

    @wraps(init)
    def init_process_group(*args, **kwargs):
        try:
            result = init(*args, **kwargs)
        except BaseException as error:
            _without_us(error)
            raise
        try:
            _note_rank(module)
        except Exception as error:
            _memtrace.note("python-rank=%r" % (error,))
        return result

    _replace(module, "init_process_group", init_process_group)


def _note_rank(module):
    """Notes the rank. A process of torch.multiprocessing.spawn does not have it in its environment."""
    notes = ["rank=%d" % module.get_rank(), "world-size=%d" % module.get_world_size()]
    _inherited_notes.extend(notes)
    for text in notes:
        _memtrace.note(text)


def _engine(module):
    _replace(module, "initialize", _marked("init", module.initialize))


def _part(phase, call):
    """`call` as a part of the step that it is called in."""
    marked = _marked(phase, call)

    @wraps(call)
    def wrapper(*args, **kwargs):
        return (marked if inside("step") else call)(*args, **kwargs)

    return wrapper


def _zero_optimizer(module):
    _zero_steps(module.DeepSpeedZeroOptimizer)


def _zero3_optimizer(module):
    _zero_steps(module.DeepSpeedZeroOptimizer_Stage3)


def _zero_steps(cls):
    cls.zero_grad = _marked("zero_grad", cls.zero_grad)
    cls.unscale_and_clip_grads = _part("unscale_and_clip_grads", cls.unscale_and_clip_grads)
    step = _updating(cls.step)

    @wraps(step)
    def wrapper(self, *args, **kwargs):
        if not is_compiling():
            _label_engine(self)
        return step(self, *args, **kwargs)

    cls.step = wrapper


def _cpu_adam(module):
    """Its update in C++ is a function of the extension that each optimizer loads."""
    cls = module.DeepSpeedCPUAdam
    construct = cls.__init__

    @wraps(construct)
    def __init__(self, *args, **kwargs):
        construct(self, *args, **kwargs)
        extension = self.ds_opt_adam
        if not hasattr(extension.adam_update, "__wrapped__"):
            extension.adam_update = _part("adam_update", extension.adam_update)

    cls.__init__ = __init__


def _generate(module):
    """Marks `generate` as a phase. Its first call ends `load` and reports the parameters, as a first forward does."""
    cls = module.GenerationMixin
    generate = _marked("generate", cls.generate)

    @wraps(generate)
    def wrapper(self, *args, **kwargs):
        if not is_compiling():
            _end_load()
            if not _is_known(self):
                _report_parameters(self)
        return generate(self, *args, **kwargs)

    cls.generate = wrapper
