"""Ten programs of ordinary users; the name of one is the argument. A line that ends in `TRUTH: N` makes N MiB (2^20),
by construction, which are alive at the highest moment; `TRUTH: N a step` makes N MiB more in each step. `TRUTH: printed`:
the program prints the MiB."""
import io
import sys


def merge():
    """pandas: a wide array is made of two tables."""
    import numpy
    import pandas
    rows = 500_000
    left = pandas.DataFrame(numpy.ones((rows, 40)))
    right = pandas.DataFrame(numpy.ones((rows, 60)))
    wide = pandas.concat([left, right], axis=1).to_numpy()  # TRUTH: 381.5
    return wide.shape


def memmap():
    """numpy: a file is mapped, and one line makes a float64 copy of it."""
    import numpy
    with open("data.bin", "wb") as file:
        file.truncate(100 << 20)
    data = numpy.memmap("data.bin", dtype="uint8", mode="r")
    wide = data[: 40 << 20].astype("float64")  # TRUTH: 320
    return wide.sum()


class Clips:
    """Decodes one minute of sound for each item."""

    def __len__(self):
        return 8

    def __getitem__(self, index):
        import numpy
        import wave
        with wave.open("clip.wav") as clip:
            samples = numpy.frombuffer(clip.readframes(clip.getnframes()), dtype="int16")
        return samples.astype("float64")


def decoding():
    """Sound is decoded in two workers; the main process keeps all batches."""
    import torch
    import wave
    with wave.open("clip.wav", "wb") as clip:
        clip.setnchannels(1), clip.setsampwidth(2), clip.setframerate(44100)
        clip.writeframes(bytes(2 * 44100 * 60))
    kept = []
    for batch in torch.utils.data.DataLoader(Clips(), batch_size=2, num_workers=2):
        kept.append(batch.float())  # TRUTH: 80.7
    return len(kept)


def layers(width, count):
    import torch
    return torch.nn.Sequential(*[torch.nn.Linear(width, width, bias=False) for _ in range(count)])


def ema():
    """An exponential moving average of the parameters is a copy of them."""
    import copy
    import torch
    model = layers(2048, 8)
    average = copy.deepcopy(model)  # TRUTH: 128
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for _ in range(6):
        model(torch.randn(8, 2048)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        with torch.no_grad():
            for mean, now in zip(average.parameters(), model.parameters()):
                mean.lerp_(now, 0.1)


def lora():
    """The base is frozen; the small adapters are trained. The base is what there is."""
    import torch
    base = torch.nn.ModuleList(torch.nn.Linear(2048, 2048, bias=False) for _ in range(12))  # TRUTH: 192
    base.requires_grad_(False)
    adapters = torch.nn.ModuleList(torch.nn.Linear(2048, 8, bias=False) for _ in range(12))
    optimizer = torch.optim.AdamW(adapters.parameters())
    for _ in range(6):
        hidden = torch.randn(8, 2048)
        for layer, adapter in zip(base, adapters):
            hidden = layer(hidden) + adapter(hidden).mean()
        hidden.square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


class Cached:
    """Keeps each item that it has made: 4 MiB."""

    def __init__(self):
        self.items = {}

    def __len__(self):
        return 60

    def __getitem__(self, index):
        import torch
        if index not in self.items:
            self.items[index] = torch.full((1 << 20,), float(index))  # TRUTH: 240
        return self.items[index]


def cache():
    """A Dataset keeps all that it has read."""
    import torch
    model = torch.nn.Linear(64, 64)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for item in torch.utils.data.DataLoader(Cached(), batch_size=None):
        model(item[:64]).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


def graph():
    """The losses are summed for a log, and each keeps its graph."""
    import torch
    model = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.Tanh())
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    total = 0
    for _ in range(30):
        batch = torch.randn(1024, 1024)  # TRUTH: 4 a step
        hidden = model(batch)  # TRUTH: 4 a step
        loss = hidden.mean()
        loss.backward(retain_graph=True)
        optimizer.step()
        optimizer.zero_grad()
        total = total + loss
    return float(total)


def accumulation():
    """Eight micro batches are kept until the update, for their outputs are compared."""
    import torch
    model = torch.nn.Linear(1024, 4096, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for _ in range(5):
        outputs = []
        for _ in range(8):
            output = model(torch.randn(2048, 1024))  # TRUTH: 256
            outputs.append(output)
        torch.stack([output.mean() for output in outputs]).std().backward()
        optimizer.step()
        optimizer.zero_grad()
        del outputs, output


def checkpoint():
    """The checkpoint is made in memory, to be sent away."""
    import torch
    model = layers(2048, 8)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    for _ in range(3):
        model(torch.randn(8, 2048)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    buffer = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, buffer)  # TRUTH: printed
    print(sys.getsizeof(buffer) / 2**20)


def tokenizer():
    """All texts are tokenized at once, to lists of Python integers."""
    import tokenizers
    import torch
    fast = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]"))
    fast.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    texts = ["a " * 512] * 40_000
    lists = [encoding.ids for encoding in fast.encode_batch(texts[:400])]
    rows = torch.tensor(lists * 100)  # TRUTH: 156.25
    return rows.shape


globals()[sys.argv[1]]()
