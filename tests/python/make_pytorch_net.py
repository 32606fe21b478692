# Makes pytorch_net.safetensors and pytorch_net_run.npz, which tests/session/pytorch_weights_test.cc compares Belfry with:
# the weights of a small network with many kinds of layers, and what it computes from fixed inputs. Needs PyTorch,
# safetensors and NumPy:
#   python tests/python/make_pytorch_net.py
import pathlib

import numpy
import torch
from safetensors.torch import save_file
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(2, 4, 3, padding=1),
            nn.BatchNorm2d(4),
            nn.PReLU(4),
            nn.MaxPool2d(2),
            nn.Conv2d(4, 8, 3, padding=1, groups=4),  # each channel makes two
            nn.PReLU(),
            nn.ConvTranspose2d(8, 4, 2, stride=2),
            nn.GroupNorm(2, 4),
            nn.ReLU(),
            nn.Conv2d(4, 4, 3, padding=1, groups=2, bias=False),
            nn.AvgPool2d(2),
        )
        self.fc1 = nn.Linear(4 * 3 * 2, 5)
        self.words = nn.Embedding(7, 4)
        self.lstm = nn.LSTM(4, 3, num_layers=2, batch_first=True)
        self.back = nn.LSTM(4, 3, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(9, 4, batch_first=True)
        self.plain = nn.RNN(4, 4, batch_first=True)
        self.conv = nn.Conv1d(4, 4, 3, padding=1)
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)
        self.cross = nn.MultiheadAttention(4, 2, batch_first=True)
        self.norm = nn.LayerNorm(4)
        self.fc2 = nn.Linear(9, 3)

    def forward(self, image, ids):
        seen = torch.relu(self.fc1(self.features(image).flatten(1)))
        words = self.words(ids)
        x, _ = self.gru(torch.cat([self.lstm(words)[0], self.back(words)[0]], 2))
        x, _ = self.plain(x)
        x = self.conv(x.transpose(1, 2)).transpose(1, 2)
        x = x + self.attention(x, x, x)[0]
        x = x + self.cross(x, words, words)[0]
        read = self.norm(x).mean(1)
        return self.fc2(torch.cat([seen, read], 1))


torch.manual_seed(3)
net = Net().eval()
with torch.no_grad():
    for name, value in net.state_dict().items():
        if name.endswith("running_var"):
            value.uniform_(0.5, 2)
        elif value.is_floating_point():
            value.uniform_(-0.6, 0.6)
    image, ids = torch.rand(3, 2, 6, 4), torch.randint(7, (3, 5))
    output = net(image, ids)

folder = pathlib.Path(__file__).parent
save_file(net.state_dict(), folder / "pytorch_net.safetensors")
numpy.savez_compressed(
    folder / "pytorch_net_run.npz",
    image=image.permute(0, 2, 3, 1).contiguous().numpy(),
    ids=ids.numpy().astype(numpy.int32),
    output=output.numpy(),
)
