"""PyTorch's switches that change what is computed, or how fast. Ours are set, never assumed."""

import torch
import torch._functorch.config


def set_always():
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.deterministic = False
    # A compiled backward may else overwrite what its forward saved, and could be run but once.
    torch._functorch.config.donated_buffer = False


def set_tf32(allowed):
    """For cuBLAS and cuDNN both. One of these two is on by default."""
    torch.backends.cuda.matmul.allow_tf32 = allowed
    torch.backends.cudnn.allow_tf32 = allowed


def _word(on):
    return "on" if on else "off"


def versions(device):
    words = [f"PyTorch {torch.__version__}"]
    try:
        import triton

        words.append(f"Triton {triton.__version__}")
    except ImportError:
        words.append("no Triton")
    if device == "cuda":
        words.append(f"CUDA {torch.version.cuda}")
        words.append(f"cuDNN {torch.backends.cudnn.version()}")
        words.append(torch.cuda.get_device_name())
    else:
        words.append(f"on {torch.get_num_threads()} threads of the CPU")
    matmul = torch.backends.cuda.matmul
    reduced = (
        matmul.allow_bf16_reduced_precision_reduction
        or matmul.allow_fp16_reduced_precision_reduction
    )
    words.append(f"reduced-precision reductions {_word(reduced)}")
    words.append(f"cudnn.benchmark {_word(torch.backends.cudnn.benchmark)}")
    words.append(f"cudnn.deterministic {_word(torch.backends.cudnn.deterministic)}")
    return ", ".join(words)


def precision():
    """As PyTorch says that it is, not as it was asked for."""
    matmul, convolution = torch.backends.cuda.matmul, torch.backends.cudnn
    return f"TF32: matmul {_word(matmul.allow_tf32)}, cuDNN {_word(convolution.allow_tf32)}"
