# Purpose: a loop whose forward lies in a phase of the user, and which nests more phases than are recorded. The phase
# `load` ends, and `loss` begins, inside the user's phase. The user's phase `backward` has a name of memtrace's own.
import memtrace
import torch

torch.set_num_threads(1)
model = torch.nn.Linear(256, 1024, bias=False)  # 1 MiB
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, target = torch.zeros(1024, 256), torch.zeros(1024, dtype=torch.long)
for step in range(3):
    with memtrace.phase("batch"):
        y = model(x)  # 4 MiB
        with memtrace.phase("criterion"):
            loss = torch.nn.functional.cross_entropy(y, target)
    with memtrace.phase("backward"):
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    del y, loss
    deep = [memtrace.phase("deep") for _ in range(40)]
    for phase in deep:
        phase.__enter__()
    for phase in deep:
        phase.__exit__()
