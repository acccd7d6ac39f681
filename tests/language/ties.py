# Which of equal elements topk, kthvalue, median, mode and multinomial take, also in the order of what is not sorted; NaN, both zeros, narrow types.
import torch


def total(indices):
    return sum((i + 1) * v for i, v in enumerate(indices.reshape(-1).tolist())) % 1000003


def row(n, values, dtype):
    return torch.tensor([i * i * 31 % 1009 % values for i in range(n)]).to(dtype)


for n in (1, 2, 5, 16, 17, 40, 130, 700, 3000):
    for values in (1, 3, 50, 2000):
        for dtype in (torch.float32, torch.bfloat16, torch.float64, torch.int64, torch.uint8):
            x = row(n, min(values, 200) if dtype == torch.uint8 else values, dtype)
            if dtype.is_floating_point and values == 50:
                x = torch.where(x == 7, torch.nan, torch.where(x == 9, -0.0, x))
            found = []
            for k in {1, (n + 63) // 64, (n + 2) // 3, n}:
                for largest in (True, False):
                    for in_order in (True, False):
                        found.append(total(x.topk(k, largest=largest, sorted=in_order)[1]))
                found.append(x.kthvalue(k)[1].item())
            print(n, values, dtype, sum(found) % 1000003, x.median(0)[1].item(), x.nanmedian(0)[1].item(), x.mode()[1].item())

x = row(1200, 20, torch.float32).view(300, 4)
print(total(x.topk(4, dim=0)[1]), total(x.topk(9, dim=0, sorted=False)[1]), total(x.kthvalue(100, dim=0)[1]), total(x.mode(dim=0)[1]))
up = torch.arange(600.0).view(2, 300).mT  # splits of an ascending and of a falling row; a row on which they end in the heap
print(total(up.topk(30, dim=0)[1]), total(up.topk(30, dim=0, largest=False, sorted=False)[1]))
n = 400
half = [(i + 1) if i % 2 == 0 else n // 2 + i + 1 for i in range(n // 2)] + [2 * (i + 1) for i in range(n // 2)]
killer = torch.tensor(half).div(2, rounding_mode="floor")
print(total(killer.topk(150, largest=False)[1]), total(killer.topk(150, largest=False, sorted=False)[1]), killer.mode()[1].item())
for dtype in (torch.bfloat16, torch.float16, torch.float32):
    torch.manual_seed(3)
    print(torch.multinomial(row(300, 9, dtype) + 1, 40).tolist(), torch.multinomial(row(2000, 9, dtype) + 1, 5).tolist())
for mean, std in ((torch.bfloat16, torch.float64), (torch.float32, torch.float64), (torch.bfloat16, torch.float32)):
    print(torch.normal(torch.ones(2, 3, dtype=mean), torch.full((3,), 2.3, dtype=std)))  # in the type of the mean, rounded after each step
