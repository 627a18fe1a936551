# Purpose: the wrappers around training: checkpoints, loaders, process groups, engines, generation.
# Runs: inside the traced interpreter, before the first import of a framework.
"""See bootstrap.py for the rules, and for the names that are not defined here."""


def _save(module):
    def label(args, kwargs):
        _within_means(lambda: _label_saved(args[0] if args else kwargs.get("obj")))

    _replace(module, "save", _around(_marked("save", module.save), before=label))


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
    def note(_args, _kwargs):
        _memtrace.note("kind=worker")  # it inherits RANK, by which it would be taken for a rank
        _note_parent()
        _watch_first_fetch()
        _repeat_notes()

    _replace(module, "_worker_loop", _around(_marked("data", module._worker_loop), before=note))


def _note_parent():
    """Notes the process that has the loader. The parent of a worker may be a forkserver."""
    try:
        _memtrace.note("worker-of=%d" % sys.modules["multiprocessing.process"].parent_process().pid)
    except Exception as error:
        _memtrace.note("python-worker=%r" % (error,))


def _watch_first_fetch():
    """Has the worker's first read of its data seen: what it copied of its parent before that, its start copied."""
    try:
        module = sys.modules["torch.utils.data._utils.fetch"]
        classes = [module._MapDatasetFetcher, module._IterableDatasetFetcher]
        originals = [cls.fetch for cls in classes]

        def first(_args, _kwargs):
            for cls, original in zip(classes, originals):
                cls.fetch = original
            _memtrace.first_item()

        for cls, original in zip(classes, originals):
            cls.fetch = _around(original, before=first)
    except Exception as error:
        _memtrace.note("python-worker=%r" % (error,))


def _process_group(module):
    def note(_args, _result):
        try:
            _note_rank(module)
            _name_groups()
        except Exception as error:
            _memtrace.note("python-rank=%r" % (error,))

    _replace(module, "init_process_group", _around(_marked("init", module.init_process_group), after=note))


def _note_rank(module):
    """Notes the rank. A process of torch.multiprocessing.spawn does not have it in its environment."""
    notes = ["rank=%d" % module.get_rank(), "world-size=%d" % module.get_world_size()]
    _inherited_notes.extend(notes)
    for text in notes:
        _memtrace.note(text)


def _mesh(module):
    def note(_args, mesh):
        _note_coordinates(lambda: zip(mesh.mesh_dim_names or (), mesh.get_coordinate() or ()))

    _replace(module, "init_device_mesh", _around(module.init_device_mesh, after=note))


_MEGATRON_AXES = {
    "pp": "get_pipeline_model_parallel_rank",
    "dp": "get_data_parallel_rank",
    "cp": "get_context_parallel_rank",
    "ep": "get_expert_model_parallel_rank",
    "tp": "get_tensor_model_parallel_rank",
}


def _megatron_groups(module):
    def note(_args, _result):
        _note_coordinates(lambda: [(axis, vars(module)[name]()) for axis, name in _MEGATRON_AXES.items()
                                   if name in vars(module)])

    _replace(module, "initialize_model_parallel", _around(module.initialize_model_parallel, after=note))


def _deepspeed_grid(module):
    cls = module.PipelineParallelGrid
    axes = {"pipe": "pp", "data": "dp", "model": "tp"}

    def note(args, _result):
        _note_coordinates(lambda: [(axes.get(axis, axis), place) for axis, place in
                                   args[0]._topo.get_coord(args[0].global_rank)._asdict().items()])

    cls.__init__ = _around(cls.__init__, after=note)


_most_axes = [1]


def _note_coordinates(pairs):
    """Notes the place of this rank in the grid with the most axes. A program may make several grids."""
    try:
        named = ["%s=%d" % pair for pair in pairs()]
        if len(named) >= _most_axes[0]:
            _most_axes[0] = len(named)
            _memtrace.note("coordinates=" + ",".join(named))
    except Exception as error:
        _memtrace.note("python-coordinates=%r" % (error,))


def _engine(module):
    _replace(module, "initialize", _marked("init", module.initialize))


def _part(phase, call):
    """`call` as a part of the step that it is called in."""
    marked = _marked(phase, call)

    @wraps(call)
    def wrapper(*args, **kwargs):
        try:
            return (marked if inside("step") else call)(*args, **kwargs)
        except BaseException as error:
            _without_us(error)
            raise

    return wrapper


def _zero_optimizer(module):
    _zero_steps(module.DeepSpeedZeroOptimizer)


def _zero3_optimizer(module):
    _zero_steps(module.DeepSpeedZeroOptimizer_Stage3)


def _zero_steps(cls):
    cls.zero_grad = _marked("zero_grad", cls.zero_grad)
    cls.unscale_and_clip_grads = _part("unscale_and_clip_grads", cls.unscale_and_clip_grads)
    cls.step = _around(_updating(cls.step), before=lambda args, _: _label_engine(args[0]))


def _cpu_adam(module):
    """Its update in C++ is a function of the extension that each optimizer loads."""
    cls = module.DeepSpeedCPUAdam

    def mark(args, _result):
        extension = args[0].ds_opt_adam
        if not hasattr(extension.adam_update, "__wrapped__"):
            extension.adam_update = _part("adam_update", extension.adam_update)

    cls.__init__ = _around(cls.__init__, after=mark)


def _generate(module):
    """Marks `generate` as a phase. Its first call ends `load` and reports the parameters, as a first forward does."""
    cls = module.GenerationMixin

    def report(args, _kwargs):
        _end_load()
        if not _is_known(args[0]):
            _report_parameters(args[0])

    cls.generate = _around(_marked("generate", cls.generate), before=report)
