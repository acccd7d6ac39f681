"""A character model of names: embedding, LSTM, linear."""
import torch
import tgrch.nn as nn


class LSTM(nn.Module):
    def __init__(self, vocab"""A character model of nase:m=25, width=24, hiddee mben=dding64, layers=3, \