/* Operators called in the model language on concrete tensors: results as PyTorch 2.15 prints them. */
#include "snippets.h"

static const snippet table[] = {
    /* normalisations in training write their statistics, whatever their schema says */
    {"m, v = torch.zeros(2), torch.ones(2)\nF.batch_norm(torch.tensor([[1., 2.], [3., 6.]]), m, v, training=True, momentum=0.5)\n"
     "r = m.tolist() + v.tolist()\n",
     "[1.0, 2.0, 1.5, 4.5]"},
    {"m, v = torch.zeros(1), torch.ones(1)\nx = torch.tensor([[[1., 3.]], [[5., 9.]]])\nF.instance_norm(x, m, v, momentum=0.5)\n"
     "r = m.tolist() + v.tolist()\n",
     "[2.25, 3.0]"},
    {"m, v = torch.zeros(2), torch.ones(2)\ntorch._native_batch_norm_legit(torch.tensor([[1., 2.], [3., 6.]]), None, None, m, v, True, 0.5, 0.)\n"
     "r = m.tolist() + v.tolist()\n",
     "[1.0, 2.0, 1.5, 4.5]"},
    {"m, v = torch.zeros(2), torch.ones(2)\nF.batch_norm(torch.zeros(0, 2), m, v, training=True)\nr = m.tolist() + v.tolist()\n",
     "[0.0, 0.0, 1.0, 1.0]"},
    {"m = torch.nn.BatchNorm1d(1, momentum=None)\nm(torch.tensor([[1.], [3.]]))\nm(torch.tensor([[5.], [9.]]))\n"
     "r = m.running_mean.tolist() + m.running_var.tolist()\n",
     "[4.5, 5.0]"},
    {"r = torch.nn.CrossMapLRN2d(3, alpha=1.0)(torch.ones(1, 5, 1, 1)).view(-1).tolist()\n",
     "[0.6817315816879272, 0.5946035385131836, 0.5296846628189087, 0.5296846628189087, 0.5946035385131836]"},
    /* the table's rows that are picked are scaled in place */
    {"w = torch.tensor([[3., 4.], [0.3, 0.4], [6., 8.]])\nF.embedding(torch.tensor([0, 1]), w, max_norm=1.0)\nr = w.tolist()\n",
     "[[0.6000000238418579, 0.800000011920929], [0.30000001192092896, 0.4000000059604645], [6.0, 8.0]]"},
    /* integers have no part of them dropped, nor gates */
    {"r = F.dropout(torch.ones(3, dtype=torch.long), 0.5)\n", "can't be cast to the desired output type int64"},
    {"r = F.dropout(torch.ones(2, dtype=torch.long), 1.0).tolist()\n", "[0, 0]"},
    {"r = F.glu(torch.ones(4, dtype=torch.int32))\n", "aten.glu"},
    {"r = F.cross_entropy(torch.ones(2, 3, dtype=torch.long), torch.tensor([0, 1]))\n", "log_softmax"},
    /* numbers in the place of the first tensor */
    {"r = [torch.mul(2.5, torch.tensor([2, 4])).tolist(), torch.sub(3, torch.tensor([1.5])).tolist(), torch.add(1, 2).item()]\n",
     "[[5.0, 10.0], [1.5], 3]"},
    {"r = torch.pow(torch.tensor([55, 0], dtype=torch.int32), torch.tensor([127, 128], dtype=torch.int32)).tolist()\n", "[1665565063, 0]"},
    {"r = torch.gather(torch.ones(1, 2), 1, torch.tensor([[0]]), out=torch.zeros(1, 1, dtype=torch.double))\n", "Expected out tensor to have dtype"},
    {"r = torch.acos(torch.tensor(complex(float('inf'), float('inf')))).item()\n", "(0.7853981852531433-infj)"},
    /* location and scale of float64 draws are rounded once */
    {"torch.manual_seed(5)\nd = torch.float64\n"
     "r = torch.empty(3, dtype=d).cauchy_(1.0, 2.5).tolist() + torch.empty(3, dtype=d).normal_(-2.0, 3.0).tolist()\n",
     "[2.1957988652420513, -1.3512368177509817, -0.16848095563317128, -2.93904848796441, 0.16506195897012654, 0.3490209602741561]"},
    /* the generator draws for what is not positive only */
    {"torch.manual_seed(42)\nr = F.rrelu(torch.tensor([-1., 2., -1.]), training=True).tolist()\n",
     "[-0.13711552321910858, 2.0, -0.13810628652572632]"},
    /* fills of a view go in the order of memory, and normal ones of what is not contiguous in pairs whatever the size */
    {"torch.manual_seed(1)\na = torch.zeros(5, 7).t().exponential_()\ntorch.manual_seed(1)\nr = torch.equal(a, torch.zeros(5, "
     "7).exponential_().t())\n",
     "True"},
    {"torch.manual_seed(1)\na = torch.zeros(8, 6)[::2].permute(1, 0).normal_(1, 2)\ntorch.manual_seed(1)\n"
     "r = torch.equal(a, torch.cat([torch.zeros(12).normal_(1, 2), torch.zeros(12).normal_(1, 2)]).view(4, 6).t())\n",
     "True"},
    {"p = torch.rand(3, 4)\ntorch.manual_seed(1)\na = torch.zeros(4, 3).t().bernoulli_(p)\ntorch.manual_seed(1)\n"
     "r = torch.equal(a, torch.bernoulli(p.t().contiguous()).t())\n",
     "True"},
    /* out= that shares memory with what is read in another order */
    {"x = torch.ones(3)\nr = torch.gather(x, 0, torch.tensor([1]), out=x)\n", "refer to a single memory location"},
    {"x = torch.ones(3)\nr = torch.cat((torch.ones(1), x), out=x)\n", "refer to a single memory location"},
    {"x = torch.ones(3)\nr = torch.add(x, x, out=x).tolist()\n", "[2.0, 2.0, 2.0]"},
    {"r = torch.slogdet(torch.eye(2), out=torch.ones(1))\n", "argument 'out' must be tuple of Tensors, not Tensor"},
    {"r = torch.topk(torch.ones(3), 1, out=(torch.ones(1),))\n", "out= expects 2 tensors, got 1"},
    {"r = torch.view_copy(torch.arange(4).view(2, 2).t(), (4,)).tolist()\n", "[0, 2, 1, 3]"},
    /* pairs of halves are drawn through float32, in memory of its own */
    {"torch.manual_seed(1)\nr = torch.isfinite(torch.randn(40, dtype=torch.complex32).real).all().item()\n", "True"},
    /* types that PyTorch's CPU has no kernel for; a fraction beside whole numbers makes another type */
    {"r = F.avg_pool2d(torch.ones(1, 4, 4, dtype=torch.complex64), 2)\n", "\"avg_pool2d\" not implemented for 'complex64'"},
    {"r = torch.topk(torch.tensor([True, False]), 1)\n", "\"topk\" not implemented for 'bool'"},
    /* unless it takes another way: the mean of all positions, dropout that does not train */
    {"r = F.adaptive_avg_pool2d(torch.ones(1, 4, 4, dtype=torch.complex64), 2)\n", "\"adaptive_avg_pool2d\" not implemented for 'complex64'"},
    {"r = F.adaptive_avg_pool3d(torch.ones(1, 2, 4, 4, dtype=torch.complex64), 1).tolist()\n", "[[[[(1+0j)]]]]"},
    {"r = F.dropout(torch.ones(2).to(torch.float8_e4m3fn), 0.5)\n", "\"dropout\" not implemented for 'float8_e4m3fn'"},
    {"r = F.dropout(torch.ones(2).to(torch.float8_e4m3fn), 0.5, training=False).float().tolist()\n", "[1.0, 1.0]"},
    {"r = torch.median(torch.ones(3, dtype=torch.uint16))\n", "\"median\" not implemented for 'uint16'"},
    {"r = torch.add(torch.ones(2, dtype=torch.uint16), 0.5).tolist()\n", "[1.5, 1.5]"},
    {"r = torch.cumsum(torch.ones(2, dtype=torch.bool), 0).tolist()\n", "[1, 2]"},
    {"r = F.binary_cross_entropy(torch.ones(2).bfloat16(), torch.ones(2).bfloat16(), torch.ones(2))\n", "can't be cast to the desired output type"},
    {"r = [torch.median(torch.empty(0, 3)).item(), torch.nanmedian(torch.empty(0)).shape]\n", "[nan, torch.Size([])]"},
    /* four neighbours along each of three dimensions */
    {"x = torch.arange(27.).view(1, 1, 3, 3, 3)\ng = torch.zeros(1, 1, 1, 1, 3)\nr = F.grid_sample(x, g, mode='bicubic', "
     "align_corners=True).item()\n",
     "13.0"},
    /* an index without elements may be of any type and rank */
    {"r = torch.gather(torch.ones(3), 0, torch.empty(2, 0, dtype=torch.uint8)).shape\n", "torch.Size([2, 0])"},
    {"r = torch.take_along_dim(torch.arange(4.).view(2, 2), torch.tensor([[-1], [0]]), 1).tolist()\n", "[[1.0], [2.0]]"},
    {"r = [t.tolist() for t in torch.unravel_index(torch.tensor([5, 7], dtype=torch.uint8), (3, 4))]\n", "[[1, 1], [1, 3]]"},
    {"r = torch.unravel_index(torch.tensor([5.]), (3, 4))\n", "expected 'indices' to be integer dtype"},
    /* values and boundaries of two types are compared in their common one */
    {"b = torch.tensor([-1., 0., 1.])\nr = [torch.bucketize(torch.tensor(-0.55).double(), b).item(), torch.bucketize(torch.tensor([-0.55, "
     "2.]).double(), "
     "b).tolist(), torch.searchsorted(b, torch.tensor([[1, 0]]), right=True).tolist()]\n",
     "[1, [1, 3], [[3, 2]]]"},
    {"i = torch.tensor([1, 2, 3])\nr = [torch.bucketize(2.5, i).item(), torch.searchsorted(i, 2.5).item(), torch.searchsorted(i.char(), "
     "torch.tensor([2.5, 1.5]).bfloat16()).tolist(), torch.bucketize(torch.tensor([0.3]).double(), torch.tensor([0.2999999])).item()]\n",
     "[2, 2, [2, 1], 1]"},
    /* what drops nothing returns its argument */
    {"x, z = torch.arange(3.), torch.ones(1, 2, 1)\nF.dropout(x, 0.5, training=False).add_(1)\nF.dropout1d(z, 0., training=True).mul_(3)\n"
     "F.alpha_dropout(z, 0.3, training=False).add_(1)\nr = [x.tolist(), z.tolist()]\n",
     "[[1.0, 2.0, 3.0], [[[4.0], [4.0]]]]"},
    {"x = torch.arange(4.)\nr = [len(x.hsplit(2)), len(x.view(4, 1).vsplit(4)), len(x.view(1, 1, 4).dsplit(2)), [t.tolist() for t in "
     "x.hsplit([1])]]\n",
     "[2, 4, 2, [[0.0], [1.0, 2.0, 3.0]]]"},
    {"x = torch.ones(4, 8)\nr = F.scaled_dot_product_attention(x, torch.ones(4, 7), x, torch.zeros(4, 4))\n", "matmul"},
    {"x = torch.arange(50.).view(2, 5, 5)\nr = [x[..., True, :, [0, -2]][:, 0, :1].tolist(), x[True, 0, 0, 1:3].tolist(), x[False].shape]\n",
     "[[[0.0], [3.0]], [[1.0, 2.0]], torch.Size([0, 2, 5, 5])]"},
    {"r = torch.multinomial(torch.tensor([1., -1.]), 1)\n", "element < 0"},
    {"r = torch.multinomial(torch.zeros(2), 1)\n", "sum of probabilities <= 0"},
    {"r = F.group_norm(torch.zeros(2, 4, 0), 2)\n", "Expected HxW to be greater than 0"},
    {"r = F.max_pool3d(torch.zeros(0, 1, 2, 2), 1)\n", "non-zero size for non-batch dimensions"},
    {"r = F.avg_pool2d(torch.tensor([[[1, 2], [4, -14]]]), 2).tolist()\n", "[[[-1]]]"},
    /* factors of integer products lose their fraction; booleans add by or */
    {"x = torch.tensor([[5, 7], [2, 3]])\nr = torch.addbmm(x, x[None], x[None], beta=1.6, alpha=2.7).tolist()\n", "[[83, 119], [34, 49]]"},
    {"r = torch.addr(torch.tensor([[5]]), torch.tensor([1]), torch.tensor([1]), beta=0.5)\n", "must not be a floating point number"},
    {"t = torch.tensor([True, False])\nr = torch.addr(torch.tensor([[False, True], [False, False]]), t, t, beta=3, alpha=2).tolist()\n",
     "[[True, True], [False, False]]"},
    {"r = torch.add(torch.ones(1), 1, requires_grad=True)\n", "requires_grad"},
    {"r = torch.scalar_tensor(2.0, requires_grad=True).requires_grad\n", "True"},
    {"x = torch.tensor([1., 2., 3., 4.])\nr = torch.segment_reduce(x, 'mean', lengths=torch.tensor([1, 0, 3]), initial=2).tolist()\n",
     "[3.0, 2.0, 3.6666667461395264]"},
    {"r = torch.segment_reduce(torch.ones(3), 'sum', lengths=torch.tensor([1, 1])).tolist()\n", "Expected all rows of lengths"},
    {"r = torch.logcumsumexp(torch.tensor([-1000., 0.]), 0).tolist()\n", "[-1000.0, 0.0]"},
    {"r = torch.logcumsumexp(torch.tensor([1000., float('inf'), float('nan'), 0.]), 0).tolist()\n", "[1000.0, inf, nan, nan]"},
    {"r = torch.logcumsumexp(torch.tensor([1, 2]), 0)\n", "Expected floating point or complex dtype"},
    /* bytes: weights of 16 bits, rounded after each dimension; equal sizes stay as they are */
    {"x = torch.tensor([[[[0, 255, 3], [7, 90, 201]]]], dtype=torch.uint8)\n"
     "r = F.interpolate(x, size=(3, 4), mode='bilinear').tolist() + F.interpolate(x, scale_factor=1.3, mode='bicubic').tolist()\n",
     "[[[[0, 159, 161, 3], [4, 109, 147, 102], [7, 59, 132, 201]]], [[[0, 255, 3], [7, 90, 201]]]]"},
    {"x = torch.arange(6).view(1, 2, 3)\nr = F.conv1d(x, torch.ones(2, 1, 2, dtype=torch.long), torch.tensor([0, 9]), padding=1, "
     "groups=2).tolist()\n",
     "[[[0, 1, 3, 2], [12, 16, 18, 14]]]"},
    {"x = torch.arange(2).view(1, 1, 2)\nr = F.conv_transpose1d(x, torch.tensor([[[1, 2, 3]]]), stride=2, output_padding=1).tolist()\n",
     "[[[0, 0, 1, 2, 3, 0]]]"},
    {"r = F.conv1d(torch.ones(1, 3, 4, dtype=torch.long), torch.ones(1, 2, 2, dtype=torch.long))\n", "do not agree in type and channels"},
    /* in-place calls are seen through every view, also those that replace all elements; large zeros are memory of their own */
    {"a = torch.empty(40)\nv, d = a.view(8, 5), a.detach()\na.uniform_(1, 2)\nb = a.clone()\na.add_(a)\nv.mul_(2)\n"
     "r = [(d == 4 * b).all().item(), v.data_ptr() == a.data_ptr(), (a[3:] == v.reshape(-1)[3:]).all().item()]\n",
     "[True, True, True]"},
    {"x = torch.zeros(3, 1 << 20)\nx[1].fill_(2)\nr = [x.sum().item(), x[0].sum().item(), torch.zeros_like(x).sum().item()]\n",
     "[2097152.0, 0.0, 0.0]"},
    /* views share storage, composite ones too; what is contiguous already is no copy */
    {"x = torch.zeros(2, 3)\nx.t()[0] = 5\nx.narrow(1, 1, 2).fill_(1)\nr = x.tolist()\n", "[[5.0, 1.0, 1.0], [5.0, 1.0, 1.0]]"},
    {"x = torch.zeros(2, 3)\ny = x.t().contiguous()\ny[0] = 5\nr = [x.tolist(), y.stride(), x.contiguous().data_ptr() == x.data_ptr()]\n",
     "[[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]], (2, 1), True]"},
    /* draws follow the order of memory */
    {"torch.manual_seed(0)\nr = F.dropout(torch.ones(2, 3).t(), 0.5).tolist()\n", "[[0.0, 0.0], [0.0, 0.0], [2.0, 0.0]]"},
    {"torch.manual_seed(0)\nr = torch.randint_like(torch.ones(2, 3).t(), 100).tolist()\n", "[[44.0, 60.0], [39.0, 63.0], [33.0, 79.0]]"},
    {"torch.manual_seed(0)\nr = torch.randn_like(torch.ones(4, 5).t())[:, 0].tolist()\n",
     "[1.5409960746765137, -0.293428897857666, -2.1787893772125244, 0.5684312582015991, -1.0845223665237427]"},
    /* one rounding; integer bounds for integers */
    {"r = torch.linspace(-2, 2, 21)[7].item()\n", "-0.5999999642372131"},
    {"r = torch.logspace(torch.tensor(1.9), torch.tensor(1.2), 2, dtype=torch.int64).tolist()\n", "[10, 10]"},
    {"r = torch.max(torch.tensor(3), torch.tensor(9)).item()\n", "9"},
    /* the dimensions of the ellipsis keep their order and are aligned at the last */
    {"x = torch.arange(24.).view(2, 3, 2, 2)\nr = [torch.einsum('...ij->...ji', x)[1, 2].tolist(), torch.einsum('...ij,kj->k...', x, torch.ones(2, "
     "2)).shape, "
     "torch.einsum('...i,...i->...', x, x[0]).flatten()[-3:].tolist(), torch.einsum('a...,...a->...', torch.ones(2, 3), torch.ones(4, 3, 2)).shape, "
     "torch.einsum('ij,jk,kl->il', torch.ones(1, 2), torch.ones(2, 3), torch.ones(3, 4)).tolist()]\n",
     "[[[20.0, 22.0], [21.0, 23.0]], torch.Size([2, 2, 3]), [241.0, 349.0, 473.0], torch.Size([4, 3]), [[6.0, 6.0, 6.0, 6.0]]]"},
    {"r = torch.einsum('i.j->ij', torch.ones(2, 2))\n", "found '.' for operand 0 that is not part of any ellipsis"},
    {"r = torch.einsum('...i...', torch.ones(2, 2))\n", "found '.' for operand 0 for which an ellipsis was already found"},
    {"r = torch.einsum('i->i..', torch.ones(2))\n", "found '.' for output that is not part of any ellipsis (...)"},
    {"r = torch.einsum('ij,', torch.ones(2))\n", "fewer operands were provided than specified in the equation"},
    {"r = torch.einsum('i->i1', torch.ones(2))\n", "invalid subscript given at index 4 in the equation string"},
    {"r = torch.einsum('ijk...', torch.ones(2))\n",
     "the number of subscripts in the equation (3) is more than the number of dimensions (1) for operand 0"},
    {"r = torch.einsum('ii->i', torch.ones(2, 3))\n", "subscript i is repeated for operand 0 but the sizes don't match, 3 != 2"},
    {"r = torch.einsum('iji->j', torch.ones(1, 2, 3))\n", "subscript i is repeated for operand 0 but the sizes don't match, 3 != 1"},
    {"r = torch.einsum('ij,jk,kl->il', torch.ones(1, 2), torch.ones(2, 3), torch.ones(4, 4))\n",
     "subscript k has size 4 for operand 2 which does not broadcast with previously seen size 3"},
    /* more pieces than a loop has axes, of many sizes and two types */
    {"x = torch.arange(100.)\ny = torch.cat([x[:i] if i % 2 else x[:i].long() for i in range(100)])\n"
     "r = [y.dtype, y.shape, y.sum().item(), y[1225:1228].tolist(), torch.stack([x[i] for i in range(99)]).sum().item()]\n",
     "[torch.float32, torch.Size([4950]), 161700.0, [0.0, 1.0, 2.0], 4851.0]"},
    /* what an operator made is no leaf */
    {"x = torch.ones(2, requires_grad=True)\ny = x.clone()\ny.zero_()\nr = [x.is_leaf, y.is_leaf, y.tolist()]\n", "[True, False, [0.0, 0.0]]"},
    {"x = torch.ones(2, requires_grad=True)\nx.zero_()\nr = 0\n", "a leaf Variable that requires grad"},
    /* what is refused before anything is computed, as in PyTorch */
    {"r = torch.ones(3).float_power_(2)\n", "aten.float_power_.Scalar: result type float64 can't be cast to the desired output type float32"},
    {"r = torch.float_power(torch.ones(3), 2, out=torch.ones(3, dtype=torch.complex128))\n", "Expected out tensor to have dtype float64"},
    {"r = torch.triangular_solve(torch.ones(2, 0, dtype=torch.int8), torch.ones(2, 2))\n", "found b of type int8 and A of type float32"},
    {"r = torch.unique(torch.ones(1, 5, 0), dim=1)\n", "There are 0 sized dimensions, and they aren't selected"},
    {"r = [torch.unique(torch.ones(0, 5), dim=0).shape, torch.unique_consecutive(torch.ones(0, 5), dim=0).shape]\n",
     "[torch.Size([0, 5]), torch.Size([0, 5])]"},
    {"r = torch.unique_consecutive(torch.tensor(1.), dim=-1)\n", "Dimension specified as -1 but tensor has no dimensions"},
    {"r = torch.arange(3).index_fill(0, torch.tensor([1]), torch.tensor(2j))\n", "Converting complex Scalar to non-complex type is not supported"},
    {"r = F.binary_cross_entropy_with_logits(torch.ones(3), torch.ones(3), weight=torch.ones(3) * 1j)\n",
     "result type complex64 can't be cast to the desired output type float32"},
    /* a number and a vector of one element, and weights of a histogram in another shape, are read as vectors */
    {"r = [F.multilabel_margin_loss(torch.tensor(1.), torch.tensor([0])).item(), F.multilabel_margin_loss(torch.tensor([1.]), "
     "torch.tensor(0)).item()]\n",
     "[0.0, 0.0]"},
    {"r = torch.histogram(torch.ones(1, 2, 2), 3, weight=torch.full((2, 2), 0.5))[0].tolist()\n", "[0.0, 2.0, 0.0]"},
};

static void test_table(void **state) {
    (void)state;
    snippets_check("import torch\nimport torch.nn.functional as F\n", table, sizeof table / sizeof *table);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
