# Purpose: the wrappers on engines of inference and trainers of reinforcement learning: rollout, sleep, wake, weight_sync.
# Runs: inside the traced interpreter, before the first import of a framework.
"""See bootstrap.py for the rules, and for the names that are not defined here.

The names are those of vLLM, SGLang, TRL, verl, OpenRLHF and NeMo-RL. A name that a version lacks is passed over: the
versions differ in where they do what. A coroutine is left as it is, since others run on its thread while it waits.
"""

_COROUTINES = 0x80 | 0x200  # CO_COROUTINE | CO_ASYNC_GENERATOR
_UPDATES = ("update_weights_from_disk", "update_weights_from_distributed", "update_weights_from_tensor", "update_weights_from_ipc")
_SGLANG = {"sleep": ("release_memory_occupation",), "wake": ("resume_memory_occupation",), "weight_sync": _UPDATES}
_TRL_TRAINER = {"rollout": ("_generate",), "weight_sync": ("_move_model_to_vllm",)}
_TRL_CLIENT = {"rollout": ("generate", "chat"), "weight_sync": ("update_named_param", "update_named_params", "update_model_params")}
_NEMO_UPDATES = ("update_weights_via_ipc_zmq", "update_weights_from_collective")

# module -> class, or None for functions of the module -> phase -> names
_ENGINES = {
    "vllm.entrypoints.llm": {"LLM": {"rollout": ("generate", "chat", "beam_search"), "sleep": ("sleep",), "wake": ("wake_up",),
                                     "weight_sync": ("update_weights",)}},
    "vllm.v1.worker.gpu_worker": {"Worker": {"sleep": ("sleep",), "wake": ("wake_up",), "weight_sync": ("update_weights", "reload_weights")}},
    "sglang.srt.entrypoints.engine": {"Engine": {"rollout": ("generate",), **_SGLANG}},
    "sglang.srt.managers.scheduler_update_weights_mixin": {"SchedulerUpdateWeightsMixin": _SGLANG},
    "trl.generation.vllm_generation": {"VLLMGeneration": {"rollout": ("generate",), "weight_sync": ("sync_weights",)}},
    "trl.generation.vllm_client": {"VLLMClient": _TRL_CLIENT},
    "trl.extras.vllm_client": {"VLLMClient": _TRL_CLIENT},
    "trl.trainer.grpo_trainer": {"GRPOTrainer": _TRL_TRAINER},
    "trl.trainer.rloo_trainer": {"RLOOTrainer": _TRL_TRAINER},
    "trl.experimental.online_dpo.online_dpo_trainer": {"OnlineDPOTrainer": {**_TRL_TRAINER, "rollout": ("_generate", "_generate_vllm")}},
    "verl.workers.rollout.hf_rollout": {"HFRollout": {"rollout": ("generate_sequences",)}},
    "verl.workers.rollout.naive.naive_rollout": {"NaiveRollout": {"rollout": ("generate_sequences",)}},
    "verl.workers.rollout.vllm_rollout.utils": {"vLLMColocateWorkerExtension": {"weight_sync": ("update_weights_from_ipc",)}},
    "openrlhf.trainer.ppo_utils.samples_generator": {"SamplesGenerator": {"rollout": ("generate_samples", "generate_eval_samples")}},
    "openrlhf.trainer.ray.ppo_actor": {"ActorPPOTrainer": {"weight_sync": ("broadcast_to_vllm",)}},
    "openrlhf.trainer.ray.vllm_worker_wrap": {"WorkerWrap": {"weight_sync": ("update_weight", "update_weight_cuda_ipc")}},
    "nemo_rl.algorithms.grpo": {None: {"weight_sync": ("refit_policy_generation",)}},
    "nemo_rl.experience.rollouts": {None: {"rollout": ("run_multi_turn_rollout", "run_async_multi_turn_rollout")}},
    "nemo_rl.models.generation.vllm.vllm_backend": {"VllmInternalWorkerExtension": {"weight_sync": _NEMO_UPDATES}},
    "nemo_rl.models.generation.vllm.vllm_worker": {"VllmGenerationWorkerImpl": {
        "rollout": ("generate", "generate_text"), "sleep": ("sleep",), "wake": ("wake_up",), "weight_sync": _NEMO_UPDATES}},
}


def _engine_calls(module):
    """Marks the calls of a module of _ENGINES."""
    for owner, phases in _ENGINES[module.__name__].items():
        where = module if owner is None else getattr(module, owner, None)
        if where is None:
            continue
        for phase, names in phases.items():
            for name in names:
                call = vars(where).get(name)  # one that a class inherits is marked where it is defined
                code = getattr(call, "__code__", None)
                if code is not None and not code.co_flags & _COROUTINES:
                    setattr(where, name, _around(_marked(phase, call), before=_end_load_before))


def _end_load_before(_args, _kwargs):
    """A program may use an engine before the first forward of its own model."""
    _end_load()


def _sends_weights(method):
    """True if an RPC by this name, or to this function, changes the weights of an engine's workers."""
    name = method if type(method) is str else method.__name__ if type(method) is type(_sends_weights) else ""
    return "weight" in name and name.startswith(("update", "load", "reload", "receive", "sync", "broadcast"))


def _worker_calls(module):
    """vLLM's workers are told by name what to do."""
    cls = module.LLM
    call = cls.collective_rpc
    marked = _marked("weight_sync", call)

    @wraps(call)
    def collective_rpc(*args, **kwargs):
        method = args[1] if len(args) > 1 else kwargs.get("method")
        try:
            return (marked if _sends_weights(method) else call)(*args, **kwargs)
        except BaseException as error:
            _without_us(error)
            raise

    cls.collective_rpc = collective_rpc
