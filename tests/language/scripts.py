# What files do at their top: arguments, paths, versions, logs.
import argparse
p = argparse.ArgumentParser(description='x', formatter_class=argparse.ArgumentDefaultsHelpFormatter)
p.add_argument('data', nargs='?', default='d')
p.add_argument('-b', '--batch-size', default='16', type=int, help='h')
p.add_argument('--lr', type=float, default=0.1)
p.add_argument('--no-cuda', action='store_true', default=False)
p.add_argument('--dims', nargs='+', type=int, default=[1, 2])
g = p.add_argument_group('g')
g.add_argument('--mode', choices=['a', 'b'], default='a')
g.add_argument('-v', action='count', default=0)
p.add_argument('--x', action='append')
p.add_argument('--flag', action=argparse.BooleanOptionalAction, default=True)
p.set_defaults(extra=3)
print(p.parse_args([]))
print(p.parse_args(['q', '-b', '3', '--lr=2', '--no-cuda', '--dims', '4', '5', '--mode', 'b', '-v', '-v', '--x', '1', '--x', '2', '--no-flag']))
print(vars(p.parse_args([]))['lr'], 'lr' in p.parse_args([]))
import os.path as osp
from pathlib import Path
for a in ['/a/b.c', 'b.tar.gz', 'a/', '', '.x', '/', 'a//b/../c', '/..', './q']:
    print(osp.split(a), osp.splitext(a), osp.normpath(a), osp.join('r', a, 'z'))
    q = Path(a)
    print(q, q.parts, repr(q.name), repr(q.stem), repr(q.suffix), q.parent, q / 'k', q.is_absolute())
print(osp.commonprefix(['abc', 'abd']), Path('/a/b/c').relative_to('/a'), [str(x) for x in Path('/a/b/c').parents], Path('a.b').with_suffix('.c'))
import logging
print(logging.getLogger('a') is logging.getLogger('a'), logging.getLevelName(20), logging.getLogger('a').isEnabledFor(10))
class Main(logging.LoggerAdapter):
    def process(self, msg, kwargs):
        print(msg % 3, kwargs.pop('main', True), self.extra)
        return super().process(msg, kwargs)
said = Main(logging.getLogger('a'), {'k': 1})
said.info('of %d', main=False)
print(said.process('%d errors', {'main': 2}))
print(said.name, said.isEnabledFor(10))
MAGIC = b'ECDC' + b'\x00'
print(isinstance('a', (bytes, str)), isinstance(3, (bytes, bytearray, memoryview)))
import numpy as np
print([a.tolist() for a in np.unique([3, 1, 3, 2], return_index=True, return_inverse=True, return_counts=True)], np.unique([2, 1]).tolist())
import torch
class Scripted(torch.jit.ScriptModule):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Linear(2, 3)
    @torch.jit.script_method
    def forward(self, x):
        return self.l(x)
print(Scripted()(torch.ones(4, 2)).shape, isinstance(Scripted(), torch.nn.Module))
print(torch.LongTensor(range(3)), torch.Tensor(range(1, 3)), torch.IntTensor(range(0)).shape)
