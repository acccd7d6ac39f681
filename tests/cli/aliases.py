import torch
from torch import nn


class C0(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(6.0))

    def forward(self, x):
        x[1:].add_(1)
        return x


class C1(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(6.0))

    def forward(self, x):
        y = x.clone()
        y[1:].add_(1)
        return y


class C2(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(6.0))

    def forward(self, x):
        y = x.clone()
        y[::2] = 7
        return y


class C3(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(6.0))

    def forward(self, x):
        y = x.clone()
        a = y[1:4]
        b = y[2:5]
        a.mul_(2)
        b.add_(a.clone())
        return torch.cat([y, a, b])


class C4(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(6.0))

    def forward(self, x):
        y = x.clone()
        v = y.view(2, 3)
        v[0].zero_()
        return torch.cat([y, v.reshape(-1)])


class C5(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(6.0))

    def forward(self, x):
        y = x.clone()
        v = y.view(3, 2).t()
        v[1] += 10
        return torch.cat([y, v.reshape(-1)])


class C6(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(6.0))

    def forward(self, x):
        y = x.clone()
        u = y.unfold(0, 3, 1)
        y[2] = 50
        return u.reshape(-1)


class C7(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(6.0))

    def forward(self, x):
        y = x.clone()
        s = y.split(2)
        s[1].add_(3)
        s[0].copy_(s[1])
        return y


class C8(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(6.0))

    def forward(self, x):
        y = x.clone()
        a, b = y.chunk(2)
        a.sub_(b)
        b.mul_(a)
        return y


class C9(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(6.0))

    def forward(self, x):
        y = x.clone()
        y.view(2, 3).select(1, 2).fill_(9)
        return y


class C10(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(6.0))

    def forward(self, x):
        y = x.clone()
        y.as_strided((2, 2), (3, 1), 1).neg_()
        return y


class C11(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(6.0))

    def forward(self, x):
        y = x.clone()
        z = y.expand(2, 6)
        y.add_(1)
        return z.reshape(-1)


class C12(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(6.0))

    def forward(self, x):
        y = x.clone()
        z = y.unsqueeze(0).squeeze(0)
        z.mul_(3)
        return y


class C13(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(6.0))

    def forward(self, x):
        y = x.clone()
        y.resize_(2, 3)
        y[1, 1] = -1
        return y.reshape(-1)


class C14(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(6.0))

    def forward(self, x):
        y = x.clone()
        z = y.reshape(3, 2)
        z.add_(2)
        return y


class C15(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(6.0))

    def forward(self, x):
        y = x.clone()
        z = y.view(2, 3).t().reshape(6)
        z.add_(2)
        return torch.cat([y, z])


class C16(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(6.0))

    def forward(self, x):
        y = x.clone()
        z = y.detach()
        z.add_(2)
        return y


class C17(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(6.0))

    def forward(self, x):
        y = x.clone()
        z = y.narrow(0, 2, 3)
        y.zero_()
        return z


class C18(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(6.0))

    def forward(self, x):
        y = x.clone()
        z = y[[0, 2]]
        z.add_(9)
        return torch.cat([y, z])


class C19(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(6.0))

    def forward(self, x):
        y = x.clone()
        y[[0, 2]] += 9
        return y


class C20(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(6.0))

    def forward(self, x):
        y = x.clone()
        y[y > 2] = 0
        return y


class C21(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(6.0))

    def forward(self, x):
        y = x.clone()
        z = y.diagonal(0) if y.dim() > 1 else y.view(2, 3).diagonal()
        z.add_(4)
        return y


class C22(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(6.0))

    def forward(self, x):
        y = x.clone()
        z = y.view(2, 3).transpose(0, 1)[1:]
        z[:, 0].mul_(5)
        return torch.cat([y, z.reshape(-1)])


class C23(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(6.0))

    def forward(self, x):
        y = x.clone()
        y.transpose_(0, 0)
        y.unsqueeze_(1)
        y[3] = 8
        return y.reshape(-1)


class C24(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(6.0))

    def forward(self, x):
        y = x.clone()
        w = y.view(6, 1).expand(6, 2).clone()
        w[0].add_(1)
        return torch.cat([y, w.reshape(-1)])


class C25(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(6.0))

    def forward(self, x):
        y = x.clone()
        a = y[:3]
        b = a[1:]
        c = b[1:]
        c.add_(100)
        a.add_(1)
        return torch.cat([y, a, b, c])


class C26(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(6.0))

    def forward(self, x):
        y = x.clone()
        y[0], y[1] = y[1].clone(), y[0].clone()
        return y


class C27(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(6.0))

    def forward(self, x):
        y = x.clone()
        y[1:] = y[:-1].clone()
        return y


class C28(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(6.0))

    def forward(self, x):
        y = x.clone()
        z = y.flip(0)
        z[0] = 77
        return torch.cat([y, z])


class C29(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(6.0))

    def forward(self, x):
        y = x.clone()
        r = y.view(2, 3)
        r.scatter_(1, torch.tensor([[0], [2]]), 6.0)
        r.index_add_(0, torch.tensor([1]), torch.ones(1, 3))
        return y


class C30(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(6.0))

    def forward(self, x):
        y = x.clone()
        y.clamp_(2, 4).mul_(2)
        torch.add(y, 1, out=y)
        return y


class C31(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(6.0))

    def forward(self, x):
        self.b.add_(x)
        c = self.b[1:]
        c.mul_(2)
        return torch.cat([self.b, c])


class C32(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        y = x.clone()
        h = self.drop(y)
        h += 1
        y[0] = 9
        return torch.cat([y, h])


class C33(nn.Module):
    def forward(self, x):
        y = x.clone()
        a, b = torch.atleast_2d(y, y.view(2, 3))
        a.mul_(2)
        b[0, 0] = 7
        y[5] = 8
        return torch.cat([y, a[0], b.flatten()])


class C34(nn.Module):
    def forward(self, x):
        y = x.clone()
        a, b = torch.broadcast_tensors(y, y[:1])
        y.add_(1)
        b.fill_(5)
        return torch.cat([y, a, b])


class C35(nn.Module):
    def forward(self, x):
        y = x.clone()
        y[1:3, None].expand(2, 4)[...] = 3
        y.view(2, 3)[:, :1].expand(-1, 3).zero_()
        return y


class C36(nn.Module):
    def forward(self, x):
        y = x.clone()
        u = y.unfold(0, 2, 3)
        u.mul_(10)
        y.view(2, 3).unfold(1, 1, 2).sub_(1)
        z = x.clone()
        z[2:].unfold(0, 3, 1).fill_(0)
        return torch.cat([y, u.flatten(), z])


class C37(nn.Module):
    def forward(self, x):
        y = x.clone()
        for part in y.view(2, 3).hsplit(3):
            part.mul_(2)
        y.hsplit(1)[0][0] = 7
        return y


class C38(nn.Module):
    def forward(self, x):
        y = x.clone()
        v = y.view(2, 3)
        torch.einsum("ij->ji", v)[0] = 9
        torch.einsum("ii->i", v[:, :2]).mul_(10)
        torch.einsum("i...->...i", v)[2].sub_(1)
        torch.einsum("ij->i", v).zero_()
        late = torch.einsum("ij->ji", v)
        y.add_(1)
        return torch.cat([y, late.flatten()])


class C39(nn.Module):
    def forward(self, x):
        y = x.clone()
        a, b = torch.meshgrid(y, y[:1].clone(), indexing="xy")
        a.mul_(2)
        c = torch.cartesian_prod(y)
        c[1] = 0
        torch.atleast_3d([y, y[0]])[0][0, 2:4].neg_()
        y[5] = 60
        return torch.cat([y, a.flatten(), b.flatten(), c])


class C40(nn.Module):
    def __init__(self):
        super().__init__()
        b = torch.arange(6.0)
        for k, same in enumerate([torch.conj_physical, torch.positive, lambda t: t.sum_to_size(6), torch.cartesian_prod, lambda t: torch.einsum("i", t)]):
            same(b)[k] = 9
        self.register_buffer("b", b)

    def forward(self, x):
        y = x.clone()
        torch.conj_physical(y)[0] = 7
        y.sum_to_size(6)[1] = 8
        y.sum_to_size(1)[0] = 9
        y.conj().resolve_conj().positive()[2] = 10
        torch.chain_matmul(y.view(2, 3))[1, 2] = 11
        return torch.cat([y, self.b])


class C41(nn.Module):
    def forward(self, x):
        y = x.reshape(1, 3, 2, 1).contiguous()
        z = y.contiguous(memory_format=torch.channels_last)
        z.add_(10)
        y.to(memory_format=torch.contiguous_format)[0, 0] = 7
        z.to(memory_format=torch.contiguous_format).zero_()
        z.contiguous(memory_format=torch.channels_last)[0, 1] = 8
        z.to(torch.float32, copy=True).zero_()
        v = torch.stack([x, x], -1)[..., 0]
        v.ravel().zero_()
        v.view(2, 3).t().reshape(6).zero_()
        v.reshape(2, 3)[0, 0] = 5
        return torch.cat([y.flatten(), z.flatten(), v])


class C42(nn.Module):
    def forward(self, x):
        y = x.clone()
        m = y.view(2, 3)
        o = [m.t().as_strided((3,), (1,)).clone(), m[:, 1:].as_strided((2,), (2,)).clone(), m[:, 1:].as_strided((2,), (2,), 0).clone()]
        m.t().as_strided((2,), (1,)).add_(10)
        m.split(1)[1].as_strided((2,), (2,)).neg_()
        m.diagonal(1)[1:].as_strided((1,), (1,)).mul_(2)
        m[-1:, 1].as_strided((1,), (1,)).sub_(1)
        c = x.view(1, 3, 2, 1).contiguous(memory_format=torch.channels_last)
        c.as_strided((3,), (1,)).zero_()
        return torch.cat([y, *o, c.flatten()])


class C43(nn.Module):
    def forward(self, x):
        y = x.clone()
        m = y.unflatten(0, (2, 3))
        m.adjoint()[0].add_(10)
        m.movedim(0, 1).swapaxes(0, 1).mT[1].mul_(2)
        y.tensor_split([2, 3])[1][0] = 0
        torch.linalg.diagonal(m)[1] = 50
        m.chunk(2, 1)[1].narrow(0, 1, 1).neg_()
        m.expand_as(m).view_as(y).flatten()[3:4].broadcast_to(1)[0] = 70
        return y


class C44(nn.Module):
    """What gives the tensor itself or a copy of it in another memory format."""

    def forward(self, x):
        last, rows, seen = torch.channels_last, torch.contiguous_format, []
        image = x.view(1, 2, 3, 1)
        for make in (lambda: image.clone(), lambda: image.clone(memory_format=last), lambda: image.clone()[:, :, ::2], lambda: image.clone()[:, :1]):
            for kept in (lambda t: t.contiguous(memory_format=last), lambda t: t.to(memory_format=last), lambda t: t.to(memory_format=rows),
                         lambda t: t.float(memory_format=last), lambda t: t.cpu(memory_format=last), lambda t: t.contiguous(), lambda t: t.ravel(),
                         lambda t: t.flatten(), lambda t: t.double(memory_format=rows), lambda t: t.type_as(x)):
                a = make()
                kept(a).add_(1)
                seen.append(a.flatten().sum())
        return torch.stack(seen)


class C45(nn.Module):
    """Compositions of views that their schemas call none."""

    def forward(self, x):
        seen = []
        for view in (lambda t: torch.einsum("ij->ji", t), lambda t: torch.einsum("...", t), lambda t: torch.cartesian_prod(t.view(6)),
                     lambda t: torch.meshgrid(t.view(6), indexing="ij")[0], lambda t: torch.atleast_3d(t), lambda t: torch.atleast_3d(t.view(6)),
                     lambda t: t.unsafe_chunk(2)[1], lambda t: t.unsafe_split(2, 1)[0], lambda t: t.unsafe_split_with_sizes([1, 1])[0],
                     lambda t: t.sum_to_size(2, 3), lambda t: t.sum_to_size(1, 3), lambda t: t.conj(), lambda t: +t, lambda t: torch.positive(t),
                     lambda t: torch.broadcast_tensors(t, torch.zeros(()))[0], lambda t: torch.einsum("ij->i", t)):
            a = x.view(2, 3).clone()
            view(a).mul_(2)
            seen.append(a.flatten())
        return torch.cat(seen)


class C46(nn.Module):
    def forward(self, x):
        y = x.view(2, 3).clone()
        y.copy_((x.view(3, 2) + 10).t())
        v = y.view(-1)
        v[1] = 50
        return torch.cat([v, y.flatten()])


class C47(nn.Module):
    def forward(self, x):
        y = x.view(3, 2).t().clone()
        y.copy_(x.view(2, 3))
        return y.as_strided((6,), (1,)) * 1


class C48(nn.Module):
    def forward(self, x):
        v = x.view(2, 3)[:, :2]
        v.mul_(2)
        return v[1].as_strided((2,), (1,)) * 1


class C49(nn.Module):
    def forward(self, x):
        v = x.view(2, 3)[:, :2]
        v.mul_(2)
        w = v.reshape(-1)
        w.add_(100)
        return torch.cat([x, v.flatten(), w])


class C50(nn.Module):
    def forward(self, x):
        v = x.view(2, 3)[:, :2]
        v.mul_(2)
        w = v.contiguous()
        w.add_(100)
        return torch.cat([x, v.flatten(), w.flatten()])


class C51(nn.Module):
    def forward(self, x):
        y = x.view(3, 2).t().clone()
        b = y.reshape(-1)
        y.copy_(x.view(2, 3))
        c = y.reshape(-1)
        c.add_(5)
        return torch.cat([y.flatten(), b, c])


class C52(nn.Module):
    def forward(self, x):
        y = torch.zeros(2, 3)
        y.copy_(x.view(3, 2).t())
        c = y.reshape(-1)
        c.add_(5)
        d = y.reshape(3, 2)
        d.mul_(2)
        return torch.cat([y.flatten(), c, d.flatten()])


class C53(nn.Module):
    def forward(self, x):
        y = x.view(2, 3).clone()
        y.copy_(x[:3])
        y.view(-1)[4] = 50
        return torch.cat([y.flatten(), y.t().flatten()])


class C54(nn.Module):
    def forward(self, x):
        y = x.view(3, 2).t().clone()
        y.unsqueeze(0).mul_(2)
        v = y.t().view(-1)
        v[1] = 50
        return torch.cat([y.flatten(), v])
