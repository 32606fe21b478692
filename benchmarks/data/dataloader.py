"""PyTorch's DataLoader on a folder of JPEGs: random crop, flip, normalise, batches.

dataloader.py DIRECTORY CROP BATCH WORKERS TURNS
Prints what decodes; then, for each line that comes from the named pipe TURNS, makes a pass and prints its images per
second, so that the caller can take turns with it.
"""
import os
import random
import sys
import time

import numpy
import torch
from torch.utils.data import DataLoader, Dataset

MEAN = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
DEVIATION = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)


def decoder():
    try:
        import cv2

        cv2.setNumThreads(0)
        return "cv2", lambda path: cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2RGB)
    except ImportError:
        from PIL import Image

        return "PIL", lambda path: numpy.array(Image.open(path).convert("RGB"))


NAME, DECODE = decoder()


class Folder(Dataset):
    def __init__(self, directory, crop):
        self.crop = crop
        self.files = [
            (os.path.join(folder, name), label)
            for label, folder in enumerate(sorted(e.path for e in os.scandir(directory)))
            for name in sorted(os.listdir(folder))
        ]

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        path, label = self.files[index]
        image = DECODE(path)
        top = random.randint(0, image.shape[0] - self.crop)
        left = random.randint(0, image.shape[1] - self.crop)
        image = image[top : top + self.crop, left : left + self.crop]
        if random.random() < 0.5:
            image = image[:, ::-1]
        tensor = torch.from_numpy(numpy.ascontiguousarray(image)).permute(2, 0, 1).float().div_(255)
        return tensor.sub_(MEAN).div_(DEVIATION), label


def main():
    directory, (crop, batch, workers), turns = sys.argv[1], map(int, sys.argv[2:5]), sys.argv[5]
    torch.set_num_threads(1)
    loader = DataLoader(
        Folder(directory, crop), batch, shuffle=True, num_workers=workers, drop_last=True, persistent_workers=True
    )
    print(NAME, flush=True)
    with open(turns) as lines:
        while lines.readline():  # the first pass starts the workers
            count, begin = 0, time.perf_counter()
            for images, _ in loader:
                count += len(images)
            print(count / (time.perf_counter() - begin), flush=True)


main()
