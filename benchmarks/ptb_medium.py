"""The PyTorch side of ./bench --ptb-medium: embedding 10000x650, 2 LSTM layers of 650, fc 10000, without dropout.

ptb_medium.py STEPS THREADS
Prints one JSON line: PyTorch's version, the loss of each step before its update, the seconds of all steps.

Initial values and text come from the hash of benchmarks/hashed.h, see benchmarks/ptb_medium.cc. A step is 35 words of 20
streams; the cost is the cross-entropy summed over time and averaged over streams; SGD 1, clipped to a norm of 5; the
state is carried from step to step.
"""
import json
import os
import sys
import time

STEPS, THREADS = map(int, sys.argv[1:3])
os.environ["OMP_NUM_THREADS"] = str(THREADS)

import numpy as np
import torch
import torch.nn.functional as F

WORDS, UNITS, TIME, STREAMS, BOUND = 10000, 650, 35, 20, 0.05


def hashed(stream, count):
    with np.errstate(over="ignore"):
        x = np.arange(count, dtype=np.uint32) * np.uint32(2654435761)
        x += np.uint32((stream * 0x9E3779B9 + 0x7F4A7C15) & 0xFFFFFFFF)
        x ^= x >> np.uint32(16)
        x *= np.uint32(0x85EBCA6B)
        x ^= x >> np.uint32(13)
        x *= np.uint32(0xC2B2AE35)
        return x ^ (x >> np.uint32(16))


def text(count):
    chosen, successor, rank = (hashed(3000 + k, count).astype(np.int64) for k in range(3))
    v = rank >> 16
    v = v * v >> 16
    common = (v * v >> 16) * WORDS >> 16  # mostly small numbers
    words, word = np.empty(count, np.int64), 0
    for i in range(count):
        word = (word * 3 + int(successor[i]) % 4) % WORDS if chosen[i] % 2 == 0 else int(common[i])
        words[i] = word
    return words


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = torch.nn.Embedding(WORDS, UNITS)
        self.lstm = torch.nn.LSTM(UNITS, UNITS, 2)
        self.head = torch.nn.Linear(UNITS, WORDS)
        with torch.no_grad():
            for number, (name, p) in enumerate(self.named_parameters()):
                u = (hashed(number, p.numel()) >> np.uint32(8)).astype(np.float64) / 8388608.0 - 1.0
                value = np.zeros(p.numel()) if "bias" in name else BOUND * u
                p.copy_(torch.from_numpy(value.astype(np.float32)).view(p.shape))
                if "bias_hh" in name:
                    p.requires_grad_(False)

    def forward(self, ids, state):
        y, state = self.lstm(self.emb(ids), state)
        return self.head(y.view(-1, UNITS)), state


def main():
    torch.set_num_threads(THREADS)
    model = Model()
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=1.0)
    length = STEPS * TIME
    words = torch.from_numpy(text(STREAMS * length + 1))
    streams = torch.arange(STREAMS) * length
    state = None
    losses, begin = [], time.perf_counter()
    for k in range(STEPS):
        at = (torch.arange(TIME) + k * TIME).view(-1, 1) + streams
        logits, state = model(words[at], state)
        state = tuple(s.detach() for s in state)
        loss = F.cross_entropy(logits, words[at + 1].view(-1))
        optimizer.zero_grad()
        (loss * TIME).backward()
        torch.nn.utils.clip_grad_norm_(trained, 5)
        optimizer.step()
        losses.append(loss.item())
    seconds = time.perf_counter() - begin
    print(json.dumps({"torch": torch.__version__, "losses": losses, "seconds": seconds}))


main()
