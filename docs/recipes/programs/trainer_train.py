"""Purpose: a training that takes seconds, for the recipe of the Trainer of transformers, with an evaluation.

The evaluation keeps the logits of all its inputs until compute_metrics has them: 64 x 64 x 4096 numbers, 64 MiB.
usage: trainer_train.py [argmax]: with argmax, it keeps a word for each place instead of 4096 logits
"""
import sys
import tempfile

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments


class Sentences(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        words = torch.randint(4096, (64,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": words, "labels": words}


def largest(logits, _):
    return logits.argmax(-1)


def share_right(made):
    words = made.predictions if made.predictions.ndim == 2 else made.predictions.argmax(-1)
    return {"right": float((words == made.label_ids).mean())}


torch.set_num_threads(1)
model = GPT2LMHeadModel(GPT2Config(vocab_size=4096, n_positions=64, n_embd=128, n_layer=2, n_head=2))
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(folder, num_train_epochs=1, per_device_train_batch_size=8, use_cpu=True,
                                  per_device_eval_batch_size=8, eval_strategy="epoch", save_strategy="no",
                                  report_to="none", disable_tqdm=True)
    trainer = Trainer(model, arguments, train_dataset=Sentences(), eval_dataset=Sentences(), compute_metrics=share_right,
                      preprocess_logits_for_metrics=largest if sys.argv[1:] == ["argmax"] else None)
    trainer.train()
