"""Tokens per second that PyTorch samples from the suite's char_transformer with a cache of keys and values.

  sample.py THREADS BATCH REPEATS     prints one JSON line: the best of the modes, and each mode's

Modes: plain (each step attends to the filled part of the cache), static (to the whole cache, under a mask), and both
through torch.compile where that works. All run under inference_mode with fused attention. Weights are random: speed does
not depend on them.
"""
import json, os, sys, time

threads, batch, repeats = (int(a) for a in sys.argv[1:4])
os.environ["OMP_NUM_THREADS"] = str(threads)
import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(threads)
TIME, FEATURES, HEADS, BLOCKS, CHARACTERS = 128, 128, 4, 4, 65


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(FEATURES), nn.LayerNorm(FEATURES)
        self.qkv, self.proj = nn.Linear(FEATURES, 3 * FEATURES), nn.Linear(FEATURES, FEATURES)
        self.fc1, self.fc2 = nn.Linear(FEATURES, 4 * FEATURES), nn.Linear(4 * FEATURES, FEATURES)

    def forward(self, x, keys, values, at, mask):
        q, k, v = self.qkv(self.ln1(x)).view(batch, 1, 3, HEADS, FEATURES // HEADS).permute(2, 0, 3, 1, 4)
        if mask is None:
            keys[:, :, at], values[:, :, at] = k[:, :, 0], v[:, :, 0]
            y = F.scaled_dot_product_attention(q, keys[:, :, : at + 1], values[:, :, : at + 1])
        else:
            keys.index_copy_(2, at, k), values.index_copy_(2, at, v)
            y = F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
        x = x + self.proj(y.transpose(1, 2).reshape(batch, 1, FEATURES))
        return x + self.fc2(F.gelu(self.fc1(self.ln2(x))))


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok, self.pos = nn.Embedding(CHARACTERS, FEATURES), nn.Parameter(torch.randn(TIME, FEATURES))
        self.blocks = nn.ModuleList(Block() for _ in range(BLOCKS))
        self.lnf, self.head = nn.LayerNorm(FEATURES), nn.Linear(FEATURES, CHARACTERS, bias=False)

    def forward(self, ids, caches, at, mask):
        x = self.tok(ids) + (self.pos[at] if mask is None else self.pos.index_select(0, at))
        for block, (keys, values) in zip(self.blocks, caches):
            x = block(x, keys, values, at, mask)
        return torch.multinomial(torch.softmax(self.head(self.lnf(x))[:, 0], -1), 1)


def sampler(network, static):
    caches = [tuple(torch.zeros(batch, HEADS, TIME, FEATURES // HEADS) for _ in "kv") for _ in range(BLOCKS)]
    places = [torch.tensor([t]) for t in range(TIME)]
    masks = [(torch.arange(TIME) <= t).view(1, 1, 1, TIME) for t in range(TIME)]

    def sample():
        ids = torch.zeros(batch, 1, dtype=torch.long)
        for t in range(TIME):
            ids = network(ids, caches, places[t] if static else t, masks[t] if static else None)

    return sample


def main():
    torch.manual_seed(1)
    network = Network().eval()
    modes = {"plain": (network, False), "static": (network, True)}
    if hasattr(torch, "compile"):
        modes["static compiled"] = (torch.compile(network), True)
    best = {}
    with torch.inference_mode():
        samplers = {}
        for name, (net, static) in modes.items():
            try:
                samplers[name] = sampler(net, static)
                samplers[name]()
                samplers[name]()
            except Exception:
                samplers.pop(name, None)
        for _ in range(repeats):
            for name, sample in samplers.items():
                begin = time.perf_counter()
                sample()
                rate = batch * TIME / (time.perf_counter() - begin)
                best[name] = max(best.get(name, 0), rate)
    mode = max(best, key=best.get)
    print(json.dumps(dict(torch=torch.__version__, mode=mode, tokens_per_s=best[mode], modes=best)))


main()
