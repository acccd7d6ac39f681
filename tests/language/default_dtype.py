# Whole numbers become numbers of the default type.
import torch
torch.set_default_dtype(torch.float64)
i = torch.arange(1, 4)
print((i / 2).dtype, (i / i).dtype, (i * 0.5).dtype, torch.sin(i).dtype, i.float().dtype, (i + 1).dtype, torch.sqrt(i > 1).dtype, (i.float() * 2.0).dtype, torch.true_divide(i, 3).dtype, i.to(torch.float32).sum().dtype, torch.where(i > 1, i, 0.5).dtype, torch.softmax(i.float(), 0).dtype, i.mean(dtype=torch.float32).dtype, torch.exp(torch.tensor(1)).dtype)
torch.set_default_dtype(torch.float32)
print((i / 2).dtype)
print([torch.can_cast(a, b) for a, b in ((torch.int64, torch.uint8), (torch.uint8, torch.int8), (torch.bool, torch.uint16), (torch.int8, torch.bool), (torch.float32, torch.int64), (torch.int64, torch.float16), (torch.complex64, torch.float64))])
