# torch.backends: switches without effect here.
class _Switch:
    enabled = False
    benchmark = False
    deterministic = True
    allow_tf32 = False

    @staticmethod
    def is_available():
        return False

    @staticmethod
    def is_built():
        return False


cudnn = _Switch()
mps = _Switch()
cuda = _Switch()
cuda.matmul = _Switch()
mkldnn = _Switch()
opt_einsum = _Switch()
