"""More ordinary programs that waste no memory that memtrace has a finding for.

usage: clean_more.py NAME
"""
import os
import sys
import tempfile

import numpy
import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, kl_div, log_softmax, mse_loss, softmax

STEPS = 4


def layers(*widths):
    steps = [part for a, b in zip(widths, widths[1:]) for part in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(*steps[:-1])


def update(optimizer, loss):
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def gan():
    """Two models and two optimizers in turn."""
    generator, judge = layers(256, 4096, 2048), layers(2048, 4096, 1)
    of_generator = torch.optim.SGD(generator.parameters(), lr=0.01)
    of_judge = torch.optim.SGD(judge.parameters(), lr=0.01)
    for _ in range(STEPS):
        real, fake = torch.randn(64, 2048), generator(torch.randn(64, 256))
        on_real = binary_cross_entropy_with_logits(judge(real), torch.ones(64, 1))
        on_fake = binary_cross_entropy_with_logits(judge(fake.detach()), torch.zeros(64, 1))
        update(of_judge, on_real + on_fake)
        update(of_generator, binary_cross_entropy_with_logits(judge(fake), torch.ones(64, 1)))


def lstm():
    model, head = nn.LSTM(512, 1024, num_layers=2, batch_first=True), nn.Linear(1024, 64)
    optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.1)
    for _ in range(STEPS):
        out, _ = model(torch.randn(16, 64, 512))
        update(optimizer, cross_entropy(head(out).flatten(0, 1), torch.randint(64, (1024,))))


def distilled():
    """A teacher without gradients runs between the forward of the student and the loss."""
    teacher, student = layers(1024, 4096, 4096, 100).eval(), layers(1024, 2048, 100)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.01)
    for _ in range(STEPS):
        x = torch.randn(128, 1024)
        y = student(x)
        with torch.no_grad():
            wanted = teacher(x)
        update(optimizer, kl_div(log_softmax(y, -1), softmax(wanted, -1), reduction="batchmean"))


def frozen():
    """Only the last layer is trained."""
    model = layers(2048, 4096, 4096, 10)
    for parameter in model[:-1].parameters():
        parameter.requires_grad_(False)
    optimizer = torch.optim.AdamW(model[-1].parameters())
    for _ in range(STEPS):
        update(optimizer, cross_entropy(model(torch.randn(64, 2048)), torch.randint(10, (64,))))


def autoencoder():
    model = nn.Sequential(nn.Conv2d(3, 64, 4, 2, 1), nn.ReLU(), nn.Conv2d(64, 128, 4, 2, 1), nn.ReLU(),
                          nn.ConvTranspose2d(128, 64, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(64, 3, 4, 2, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(STEPS):
        x = torch.rand(32, 3, 128, 128)
        update(optimizer, mse_loss(model(x), x))


def validated():
    """Validates with a metric module after each epoch, and keeps only numbers."""
    model, history = layers(1024, 4096, 4096, 10), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(3):
        model.train()
        for _ in range(STEPS):
            update(optimizer, nn.CrossEntropyLoss()(model(torch.randn(64, 1024)), torch.randint(10, (64,))))
        model.eval()
        with torch.no_grad():
            for _ in range(2):
                history.append((model(torch.randn(64, 1024)).argmax(-1) == 0).float().mean().item())


def mapped():
    """Reads its batches from a file that numpy maps."""
    model = layers(1024, 4096, 4096, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "data.npy")
        numpy.save(path, numpy.ones((20_000, 1024), dtype=numpy.float32))
        data = numpy.load(path, mmap_mode="r")
        for step in range(STEPS):
            x = torch.from_numpy(numpy.array(data[step * 64:(step + 1) * 64]))
            update(optimizer, mse_loss(model(x), torch.zeros(64, 1)))


def translated():
    """An encoder and a decoder of transformers, which compute the loss themselves."""
    import transformers
    config = transformers.T5Config(vocab_size=2000, d_model=512, d_ff=2048, num_layers=4, num_heads=8,
                                   decoder_start_token_id=0)
    model = transformers.T5ForConditionalGeneration(config)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(STEPS):
        words = torch.randint(2000, (4, 64))
        update(optimizer, model(input_ids=words, labels=words).loss)


if __name__ == "__main__":
    torch.manual_seed(0)
    globals()[sys.argv[1]]()
