"""Purpose: a small language model, its batches and its loop, which engines.py and adapters.py train."""
import torch
from torch import nn
from torch.nn import functional as F

WORDS, WIDTH, LAYERS, LENGTH, BATCH, STEPS = 2048, 256, 4, 64, 4, 4
LINEAR = ("qkv", "out", "up", "down")
# By hand. A layer: 3 + 1 + 4 + 4 squares, with a bias each, and two norms. Besides: the table of words, and the head.
WEIGHTS_OF_LAYERS = LAYERS * 12 * WIDTH * WIDTH
BIASES_OF_LAYERS = LAYERS * (3 + 1 + 4 + 1) * WIDTH
NORMS = LAYERS * 2 * 2 * WIDTH
TABLE = WORDS * WIDTH
COUNT = WEIGHTS_OF_LAYERS + BIASES_OF_LAYERS + NORMS + 2 * TABLE


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.after = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (4, -1)).transpose(1, 2) for part in self.qkv(self.before(x)).chunk(3, -1))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(-2))
        return x + self.down(F.gelu(self.up(self.after(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, WORDS, bias=False)
        self.register_buffer("places", torch.randn(LENGTH, WIDTH))

    def forward(self, words):
        x = self.words(words)
        x = x + self.places.to(x.dtype)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def batches():
    data = torch.utils.data.TensorDataset(torch.randint(WORDS, (STEPS * BATCH, LENGTH + 1)))
    return torch.utils.data.DataLoader(data, batch_size=BATCH)


def loss_of(logits, words):
    return F.cross_entropy(logits.flatten(0, 1).float(), words[:, 1:].flatten())


def train(model, optimizer):
    for (words,) in batches():
        loss_of(model(words[:, :-1]), words).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


def evaluate(model):
    with torch.no_grad():
        for (words,) in batches():
            model(words[:, :-1])
