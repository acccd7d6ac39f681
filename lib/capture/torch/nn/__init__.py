# torch.nn: names are found in the file that defines them, which is parsed when one of its names is first used.
from torch.nn.module import (Module, register_module_forward_hook, register_module_forward_pre_hook, register_module_full_backward_hook,
                             register_module_full_backward_pre_hook)
from torch._C import Parameter, Buffer

_where = {
    "container": "Sequential ModuleList ModuleDict ParameterList ParameterDict",
    "linear": "Identity Linear Bilinear NonDynamicallyQuantizableLinear",
    "activation": "Threshold ReLU RReLU Hardtanh ReLU6 Sigmoid Hardsigmoid Tanh SiLU Mish Hardswish ELU CELU SELU GLU GELU Hardshrink "
    "LeakyReLU LogSigmoid Softplus Softshrink PReLU Softsign Tanhshrink Softmin Softmax Softmax2d LogSoftmax",
    "attention": "MultiheadAttention",
    "conv": "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d _ConvNd _ConvTransposeNd",
    "lazy": "LazyLinear LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d "
    "LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d",
    "norm": "BatchNorm1d BatchNorm2d BatchNorm3d SyncBatchNorm InstanceNorm1d InstanceNorm2d InstanceNorm3d LayerNorm GroupNorm RMSNorm "
    "LocalResponseNorm CrossMapLRN2d _NormBase _BatchNorm _InstanceNorm",
    "pooling": "MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d AvgPool1d AvgPool2d AvgPool3d FractionalMaxPool2d "
    "FractionalMaxPool3d LPPool1d LPPool2d LPPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d AdaptiveAvgPool1d AdaptiveAvgPool2d "
    "AdaptiveAvgPool3d _MaxPoolNd _MaxUnpoolNd _AvgPoolNd _LPPoolNd _AdaptiveMaxPoolNd _AdaptiveAvgPoolNd",
    "padding": "ConstantPad1d ConstantPad2d ConstantPad3d ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d "
    "ReplicationPad3d ZeroPad1d ZeroPad2d ZeroPad3d CircularPad1d CircularPad2d CircularPad3d "
    "_ConstantPadNd _ReflectionPadNd _ReplicationPadNd _CircularPadNd",
    "dropout": "Dropout Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout _DropoutNd",
    "sparse": "Embedding EmbeddingBag",
    "rnn": "RNNBase RNN LSTM GRU RNNCellBase RNNCell LSTMCell GRUCell",
    "shape": "Flatten Unflatten Fold Unfold PixelShuffle PixelUnshuffle ChannelShuffle Upsample UpsamplingNearest2d UpsamplingBilinear2d "
    "CosineSimilarity PairwiseDistance",
    "loss": "L1Loss NLLLoss NLLLoss2d PoissonNLLLoss GaussianNLLLoss KLDivLoss MSELoss BCELoss BCEWithLogitsLoss HingeEmbeddingLoss "
    "MultiLabelMarginLoss SmoothL1Loss HuberLoss SoftMarginLoss CrossEntropyLoss MultiLabelSoftMarginLoss CosineEmbeddingLoss MarginRankingLoss "
    "MultiMarginLoss TripletMarginLoss TripletMarginWithDistanceLoss CTCLoss AdaptiveLogSoftmaxWithLoss LinearCrossEntropyLoss "
    "LinearCrossEntropyOptions _Loss _WeightedLoss",
    "transformer": "Transformer TransformerEncoder TransformerDecoder TransformerEncoderLayer TransformerDecoderLayer _get_clones "
    "_get_activation_fn",
}
_index = {name: file for file, names in _where.items() for name in names.split()}


def _whole():
    here = __import__("torch.nn")
    for name in _index:
        setattr(here, name, getattr(here, name))


def __getattr__(name):
    if name in _index:
        return getattr(__import__("torch.nn." + _index[name]), name)
    raise AttributeError("module 'torch.nn' has no attribute '" + name + "'")
