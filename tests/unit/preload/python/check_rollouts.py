# Purpose: the marks of vLLM, SGLang, TRL, verl, OpenRLHF and NeMo-RL, by doubles with their modules, classes and names.
# In a Python with PyTorch under the probe.
"""The doubles have the functions that the packages of 2026 have, with other bodies: the packages need a GPU, or Ray."""
import asyncio
import os
import sys
import tempfile

import torch

from marks import check, expect, run

DOUBLES = {
    "vllm/entrypoints/llm.py": """
        class LLM:
            def __init__(self): self.worker = None
            def generate(self, prompts): return [text.upper() for text in prompts]
            def chat(self, messages): return self.generate(messages)
            def sleep(self, level=1): return self.collective_rpc("sleep", args=(level,))
            def wake_up(self, tags=None): return self.collective_rpc("wake_up", args=(tags,))
            def collective_rpc(self, method, timeout=None, args=(), kwargs=None):
                return [method(self.worker) if callable(method) else getattr(self.worker, method)(*args)]
        """,
    "vllm/v1/worker/gpu_worker.py": """
        class Worker:
            def sleep(self, level=1): return level
            def wake_up(self, tags=None): return tags
            def update_weights(self, update_info): return update_info
            def report(self): return 7
            def init_weight_transfer_engine(self): return 8
        """,
    "sglang/srt/entrypoints/engine.py": """
        class Engine:
            def generate(self, prompt): return prompt * 2
            async def async_generate(self, prompt): return prompt * 3
            def release_memory_occupation(self, tags=None): return "released"
            def resume_memory_occupation(self, tags=None): return "resumed"
            def update_weights_from_tensor(self, named_tensors): raise ValueError("shape")
            def get_server_info(self): return {}
        """,
    "trl/generation/vllm_generation.py": """
        class VLLMGeneration:
            def __init__(self, llm): self.llm = llm
            def sync_weights(self): self.llm.wake_up(tags=["weights"])
            def generate(self, prompts):
                out = self.llm.generate(prompts)
                self.llm.sleep(level=2)
                return out
        """,
    "trl/trainer/grpo_trainer.py": """
        import torch
        class GRPOTrainer:
            def __init__(self, generation): self.vllm_generation, self.model = generation, torch.nn.Linear(2, 2)
            def _generate(self, prompts):
                self.vllm_generation.sync_weights()
                with torch.no_grad(): self.model(torch.ones(2))
                return self.vllm_generation.generate(prompts)
        """,
    "verl/workers/rollout/hf_rollout.py": """
        class HFRollout:
            def generate_sequences(self, prompts): return prompts
            async def update_weights(self, weights): return weights
        """,
    "openrlhf/trainer/ray/vllm_worker_wrap.py": """
        class WorkerWrap:
            def init_process_group(self): return 1
            def update_weight(self, name, dtype, shape, empty_cache=False): return name
        """,
    "nemo_rl/experience/rollouts.py": """
        def run_multi_turn_rollout(policy): return policy
        def calculate_rewards(batch): return batch
        """,
}


def write_doubles(folder):
    import textwrap

    for path, text in DOUBLES.items():
        path = os.path.join(folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(textwrap.dedent(text))
    sys.path.insert(0, folder)


SLEEP, WAKE, SYNC, ROLLOUT = (["%s(" % name, ")" + name] for name in ("sleep", "wake", "weight_sync", "rollout"))


def llm():
    from vllm.entrypoints.llm import LLM
    from vllm.v1.worker.gpu_worker import Worker

    engine = LLM()
    engine.worker = Worker()
    return engine


@check
def vllm_in_one_process():
    engine = llm()
    assert engine.generate(["a"]) == ["A"] and engine.chat(["b"]) == ["B"]
    expect(*ROLLOUT, *ROLLOUT)
    assert engine.sleep(level=2) == [2] and engine.wake_up(tags=["weights"]) == [["weights"]]
    expect(*SLEEP, *WAKE)


@check
def vllm_told_by_name():
    engine = llm()
    assert engine.collective_rpc("update_weights", args=("info",)) == ["info"]
    assert engine.collective_rpc(method="update_weights", args=("more",)) == ["more"]
    expect(*SYNC, *SYNC)
    assert engine.collective_rpc("report") == [7] and engine.collective_rpc("init_weight_transfer_engine") == [8]
    assert engine.collective_rpc(lambda worker: worker.report()) == [7]
    expect()

    def update_weight_of_layer(worker):
        return worker.report()

    assert engine.collective_rpc(update_weight_of_layer) == [7]
    expect(*SYNC)


@check
def sglang_engine():
    from sglang.srt.entrypoints.engine import Engine

    engine = Engine()
    assert engine.generate("ab") == "abab" and engine.release_memory_occupation() == "released"
    assert engine.resume_memory_occupation() == "resumed" and engine.get_server_info() == {}
    expect(*ROLLOUT, *SLEEP, *WAKE)
    try:
        engine.update_weights_from_tensor([])
    except ValueError as error:
        assert str(error) == "shape"
    else:
        raise AssertionError("no error")
    expect(*SYNC)
    assert asyncio.run(engine.async_generate("a")) == "aaa"
    assert asyncio.iscoroutinefunction(Engine.async_generate)
    expect()


@check
def trl_trainer():
    from trl.generation.vllm_generation import VLLMGeneration
    from trl.trainer.grpo_trainer import GRPOTrainer

    trainer = GRPOTrainer(VLLMGeneration(llm()))
    expect("load(")
    assert trainer._generate(["x"]) == ["X"]
    # A forward within a rollout is part of it, as one within `generate`.
    expect(")load", "rollout(", "weight_sync(", "wake(", ")wake", ")weight_sync", "sleep(", ")sleep", ")rollout")
    assert GRPOTrainer._generate.__name__ == "_generate" and GRPOTrainer._generate.__module__ == "trl.trainer.grpo_trainer"


@check
def other_trainers():
    from nemo_rl.experience.rollouts import calculate_rewards, run_multi_turn_rollout
    from openrlhf.trainer.ray.vllm_worker_wrap import WorkerWrap
    from verl.workers.rollout.hf_rollout import HFRollout

    assert HFRollout().generate_sequences([1]) == [1] and asyncio.run(HFRollout().update_weights(2)) == 2
    expect(*ROLLOUT)
    assert WorkerWrap().update_weight("w", "float32", (2,)) == "w" and WorkerWrap().init_process_group() == 1
    expect(*SYNC)
    assert run_multi_turn_rollout("p") == "p" and calculate_rewards("b") == "b"
    expect(*ROLLOUT)


@check
def a_version_without_a_name():
    """The doubles lack most names of the table, and no note says that a patch failed."""
    import probe

    import trl.generation.vllm_generation

    assert not [line for line in probe.log() if "unpatched" in line]
    assert not hasattr(trl.generation.vllm_generation.VLLMGeneration, "chat")


if __name__ == "__main__":
    assert torch.__version__
    with tempfile.TemporaryDirectory() as packages:
        write_doubles(packages)
        run()
