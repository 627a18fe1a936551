# Purpose: the wrappers on PyTorch and its kin that mark the phases of training.
# Runs: inside the traced interpreter, before the first import of a framework.
"""See bootstrap.py for the rules, and for the names that are not defined here."""


# ---- load ------------------------------------------------------------------------------------------------------

_load_of = None  # the thread that began `load` by constructing its first module; ended by its first forward
_loading = set()  # threads inside an explicit load


def _in_user_code():
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return False
        frame = frame.f_back
    return True


def _module_construction(module):
    """Until the first one; then Module has its own __init__ back."""
    cls = module.Module
    construct = cls.__init__

    @wraps(construct)
    def __init__(self, *args, **kwargs):
        global _load_of
        if not is_compiling() and _load_of is None and _in_user_code():
            if cls.__init__ is __init__:
                cls.__init__ = construct
            me = get_ident()
            if not inside("load"):
                _load_of = me
                begin("load", AUTO)
            else:  # from_pretrained, whose phase becomes ours; or the program's own mark, which it ends itself
                _load_of = me if me in _loading else 0
        try:
            construct(self, *args, **kwargs)
        except BaseException as error:
            _without_us(error)
            raise

    cls.__init__ = __init__


def _end_load():
    global _load_of
    if _load_of == get_ident() and _load_of not in _loading:
        _load_of = 0
        end("load", AUTO)


def _loads(call):
    """As _marked("load"), but leaves open what the construction of a module inside began."""

    @wraps(call)
    def wrapper(*args, **kwargs):
        if is_compiling():
            return call(*args, **kwargs)
        me = get_ident()
        outermost = me not in _loading
        if outermost:
            _loading.add(me)
            if _load_of != me:
                begin("load", AUTO)
        try:
            return call(*args, **kwargs)
        except BaseException as error:
            _without_us(error)
            raise
        finally:
            if outermost:
                _loading.discard(me)
                if _load_of != me:
                    end("load", AUTO)

    return wrapper


def _load(module):
    _replace(module, "load", _loads(module.load))


def _load_file(module):
    _replace(module, "load_file", _loads(module.load_file))


def _load_state_dict(module):
    cls = getattr(module, "Module", None) or module.Optimizer
    cls.load_state_dict = _loads(cls.load_state_dict)


def _from_pretrained(module):
    cls = module.PreTrainedModel
    cls.from_pretrained = classmethod(_loads(vars(cls)["from_pretrained"].__func__))


# ---- forward, eval, recompute ----------------------------------------------------------------------------------


def _module_call(module):
    cls = module.Module
    call = cls.__call__

    @wraps(call)
    def __call__(self, *args, **kwargs):
        if is_compiling():
            return call(self, *args, **kwargs)
        if nested():
            phase = None
        else:
            phase, flags = _outermost(self)
        trains = phase == "forward" and _trains(self)
        if phase is not None:
            begin(phase, flags)
        try:
            return call(self, *args, **kwargs)
        except BaseException as error:
            trains = False
            _without_us(error)
            raise
        finally:
            if phase is not None:
                end(phase, AUTO)
                if trains:
                    _begin_loss()

    cls.__call__ = __call__
    _memtrace.module_call(__call__.__code__)


def _outermost(module):
    """The phase that this call is, and its flags."""
    if graph_task() != -1:
        return "recompute", AUTO
    _end_load()
    if inside("load"):
        return None, 0
    if not is_grad_enabled() and inside("step"):
        return None, 0
    if inside("loss") and _is_criterion(module):
        return None, 0
    if not _is_known(module):
        _report_parameters(module)
    return ("forward", AUTO) if is_grad_enabled() else ("eval", AUTO | GRAD_OFF)


def _checkpointing(module):
    """What a checkpoint runs again may be a function of the program, in which no module shows."""
    frame = module._CheckpointFrame  # of the kind that is not reentrant

    def mark(args, _result):
        args[0].recompute_fn = _marked("recompute", args[0].recompute_fn)

    frame.__init__ = _around(frame.__init__, after=mark)


def _reentrant_checkpointing(module):
    cls = module.CheckpointFunction

    def mark(args, _result):
        args[0].run_function = _marked("recompute", args[0].run_function)

    cls.forward = staticmethod(_around(cls.forward, after=mark))


# ---- loss ------------------------------------------------------------------------------------------------------

_training_threads = set()  # threads that made an optimizer or ran backward; elsewhere a forward may be inference
_in_loss = set()  # threads whose `loss` is open


def _trains(module):
    """True if a forward of the module is one of training. A scripted module may have no `training`."""
    try:
        return get_ident() in _training_threads and bool(module.training)
    except Exception:
        return False


def _is_criterion(module):
    """True if the module has no parameters. Module's own method is asked: a program's may return or raise anything."""
    try:
        return next(sys.modules["torch.nn.modules.module"].Module.parameters(module), None) is None
    except Exception:
        return False


def _begin_loss():
    me = get_ident()
    if me not in _in_loss and not inside("loss"):
        _in_loss.add(me)
        _memtrace.begin("loss", AUTO)


def _end_loss():
    me = get_ident()
    if me in _in_loss:
        _in_loss.discard(me)
        _memtrace.end("loss", AUTO)


def _begin(phase, flags):
    """Begins a phase of memtrace's own. Ends `loss` first, unless it is `eval`: a teacher or a metric runs in a loss."""
    if _in_loss and phase != "eval":
        _end_loss()
    _memtrace.begin(phase, flags)


def _end(phase, flags):
    """Ends a phase of memtrace's own, and a `loss` inside it: a closure may end before it calls backward."""
    if _in_loss and phase != "eval":
        _end_loss()
    if _memtrace.end(phase, flags):
        _report_pinned()
    if _group_codes and _memtrace.has_new_group_blocks():
        _name_groups()


# ---- backward --------------------------------------------------------------------------------------------------


def _backward(module):
    """The one bridge to the engine: Tensor.backward, autograd.backward and autograd.grad."""
    run = module._engine_run_backward

    @wraps(run)
    def _engine_run_backward(*args, **kwargs):
        if is_compiling():
            return run(*args, **kwargs)
        _training_threads.add(get_ident())
        _end_loss()  # also if the program has a phase `backward` of its own around this
        outermost = current() != "backward"
        if outermost:
            _end_load()
            begin("backward", AUTO)
        try:
            return run(*args, **kwargs)
        except BaseException as error:
            _without_us(error)
            raise
        finally:
            if outermost:
                end("backward", AUTO)

    _replace(module, "_engine_run_backward", _engine_run_backward)


# ---- step ------------------------------------------------------------------------------------------------------

_updates = {}  # thread -> optimizer steps that ran


def _optimizer_step(module):
    """Optimizer.__init__ hooks its class's `step` by this: ours goes around it, once per class."""
    cls = module.Optimizer
    hook = cls.profile_hook_step

    @wraps(hook)
    def profile_hook_step(func):
        _training_threads.add(get_ident())
        step = hook(func)

        @wraps(step)
        def wrapper(*args, **kwargs):
            if is_compiling():
                return step(*args, **kwargs)
            outermost = _begin_step(args, kwargs)
            try:
                return step(*args, **kwargs)
            except BaseException as error:
                _without_us(error)
                raise
            finally:
                if outermost:
                    end("step", AUTO)
                if args:
                    _label_states(args[0])

        wrapper.hooked = True
        return wrapper

    cls.profile_hook_step = staticmethod(profile_hook_step)
    if any("step" in vars(kind) and getattr(kind.step, "hooked", False) for kind in _kinds_of(cls)):
        _mark_hooked_steps(module)


def _kinds_of(cls):
    kinds = cls.__subclasses__()
    return kinds + [deeper for kind in kinds for deeper in _kinds_of(kind)]


def _begin_step(args, kwargs):
    """`args`: of `step`, with the optimizer. True if no `step` was open on this thread."""
    me = get_ident()
    _updates[me] = _updates.get(me, 0) + 1
    if args and not _is_known(args[0]):
        _report_parameters(args[0])
    _label_gradients()
    if inside("step"):
        return False
    _end_load()
    closure = args[1] if len(args) > 1 else kwargs.get("closure")
    begin("step", AUTO if closure is None else AUTO | CLOSURE)
    return True


def _mark_hooked_steps(module):
    """Of an armed process, whose optimizers came before us. A scheduler binds the `step` of its optimizer, so a wrapper on
    the class would not be called. PyTorch's own hooks are."""
    began = set()  # threads

    def before(optimizer, args, kwargs):
        if is_compiling():
            return
        me = get_ident()
        if me in began:  # the last step raised
            began.discard(me)
            end("step", AUTO)
        _training_threads.add(me)
        if _begin_step(args, kwargs):
            began.add(me)

    def after(optimizer, args, kwargs):
        if get_ident() in began:
            began.discard(get_ident())
            end("step", AUTO)
            _label_states(optimizer)

    module.register_optimizer_step_pre_hook(before)
    module.register_optimizer_step_post_hook(after)


def _updating(call):
    """`call` as a step. One in which no optimizer ran, as after infinities, is a step that was skipped."""

    @wraps(call)
    def wrapper(*args, **kwargs):
        if is_compiling() or inside("step"):
            return call(*args, **kwargs)
        me = get_ident()
        before = _updates.get(me, 0)
        flags = AUTO
        begin("step", AUTO)
        try:
            result = call(*args, **kwargs)
            if _updates.get(me, 0) == before:
                flags = AUTO | SKIPPED
            return result
        except BaseException as error:
            _without_us(error)
            raise
        finally:
            end("step", flags)

    return wrapper


def _zero_grad(module):
    cls = getattr(module, "Module", None) or module.Optimizer
    cls.zero_grad = _marked("zero_grad", cls.zero_grad)


def _scaler_step(module):
    cls = module.GradScaler
    cls.step = _updating(cls.step)
