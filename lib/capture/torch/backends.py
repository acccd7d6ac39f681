# torch.backends: switches and queries of other devices; they have no effect.
import torch


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

    @staticmethod
    def version():
        return None

    @staticmethod
    def flags(*args, **kwargs):
        return _Nothing()


# Chooses kernels of other devices; has no effect.
class _Nothing:
    def __enter__(self):
        return self

    def __exit__(self, *args):
        return False


class _Cuda(_Switch):
    matmul = _Switch()

    @staticmethod
    def sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
        return _Nothing()

    @staticmethod
    def enable_flash_sdp(enabled):
        pass

    @staticmethod
    def enable_math_sdp(enabled):
        pass

    @staticmethod
    def enable_mem_efficient_sdp(enabled):
        pass

    @staticmethod
    def enable_cudnn_sdp(enabled):
        pass

    @staticmethod
    def flash_sdp_enabled():
        return True

    @staticmethod
    def math_sdp_enabled():
        return True

    @staticmethod
    def mem_efficient_sdp_enabled():
        return True


cudnn = _Switch()
mps = _Switch()
cuda = _Cuda()
mkldnn = _Switch()
opt_einsum = _Switch()
xnnpack = _Switch()
