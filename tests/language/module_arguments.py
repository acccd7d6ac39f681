# What modules refuse and accept, as PyTorch 2.15 does: dtypes and sizes that do not fit, empty inputs. A refusal is printed as the name of its exception.
import torch
from torch import nn


def said(f):
    try:
        r = f()
    except Exception as e:
        return type(e).__name__
    r = r[0] if isinstance(r, tuple) else r
    return str(r.dtype)[6:], tuple(r.shape)


x = torch.ones(3, 2, 4)
for kind in (nn.RNN, nn.GRU, nn.LSTM):
    m = kind(4, 5)
    state = torch.zeros(1, 2, 5, dtype=torch.float64)
    hx = (state, state) if kind is nn.LSTM else state
    print(kind.__name__, said(lambda: m(x)), said(lambda: m(x.double())), said(lambda: m(x.half())), said(lambda: m(x.long())),
          said(lambda: m(x, hx)), said(lambda: m(x[:0])), said(lambda: m(x[:, :0])), said(lambda: m(x[..., :3])), said(lambda: m(x[None])),
          said(lambda: kind(0, 5)), said(lambda: kind(4.0, 5)), said(lambda: kind(4, 5, bias=1)), said(lambda: kind(4, 5, batch_first=1)))
    packed = nn.utils.rnn.pack_sequence([torch.ones(3, 4), torch.ones(2, 4)])
    print(said(lambda: m(packed)[1]), said(lambda: m(packed.double())))
for kind in (nn.RNNCell, nn.GRUCell, nn.LSTMCell):
    m = kind(4, 5)

    def step(x, h):
        return said(lambda: m(x, (h, h) if kind is nn.LSTMCell else h))

    h = torch.zeros(2, 5)
    print(kind.__name__, step(x[0], h), step(x[0, 0], h[0]), step(x[0, :1], h[0]), step(x[0], h[:1]), step(x[0], h[:, :4]), step(x[0].double(), h),
          step(x[0], h.double()))
image, mask = torch.ones(2, 3, 4, 4), torch.zeros(2, 4, 4, dtype=torch.uint8)
print(said(lambda: nn.CrossEntropyLoss()(image, mask)), said(lambda: nn.CrossEntropyLoss()(image[:, :, 0, 0], mask[:, 0, 0])))
target = torch.zeros(2, dtype=torch.long)
for weight, scores in ((3, image), (2, image), (3, image.double()), (3, image.long())):
    print(said(lambda: nn.MultiMarginLoss(weight=torch.ones(weight))(scores[:, :, 0, 0], target)), end=" ")
print(said(lambda: nn.MultiMarginLoss()(image[:, :, 0, 0], target[:1])))
print(said(lambda: nn.AdaptiveAvgPool2d(1)(image[None])), said(lambda: nn.AdaptiveAvgPool2d(2)(image[None])), said(lambda: nn.AdaptiveAvgPool1d(1)(image)))
print(said(lambda: nn.AvgPool3d((1, 5, 1), padding=(0, 2, 0))(image)), said(lambda: nn.AvgPool2d((5, 1), padding=(2, 0))(image)))
print(said(lambda: nn.ReflectionPad2d(1)(image[0, :0])), said(lambda: nn.ReplicationPad2d(1)(image[:0])), said(lambda: nn.CircularPad2d(1)(image[:, :0])))
print(said(lambda: nn.ConvTranspose2d(3, 2, 3)(image[..., :0])), said(lambda: nn.ConvTranspose2d(3, 2, 3)(image[:0])))
m = nn.InstanceNorm2d(3, track_running_stats=True)
print(said(lambda: m(image.double())), said(lambda: m(image[..., :0])), said(lambda: m.eval()(image.double())), m.running_var.tolist())
