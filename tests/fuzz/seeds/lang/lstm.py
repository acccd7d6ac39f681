"""A character model of names: embedding, LSTM, linear."""
import torch
import torch.nn as nn


class LSTM(nn.Module):
    def __init__(self, vocab=27, width=24, hidden=64, layers=2):
        super().__init__()
        self.emb = nn.Embedding(vocab, width)
        self.rnn = nn.LSTM(width, hidden, num_layers=layers, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, x):
        h, _ = self.rnn(self.emb(x))
        return self.out(h)
