# Linear algebra through the programs: errors that only the data show, a program without tc-lapack.so, low-rank factorisations.
load common

setup() {
    cd "$BATS_TEST_TMPDIR"
}

model() { # the body of forward(self, x)
    printf 'import torch\nfrom torch import nn\nclass M(nn.Module):\n    def forward(self, x):\n        return %s\n' "$1" >m.py
    tc-export m.py:M --input x="$2" -o m.pt2
}
@test "a singular matrix is an error that names the function, the matrix and the place" {
    model "torch.linalg.inv(x)" Bx2x2xf32
    fails 3 "linalg.inv: (Batch element 0): The diagonal element 1 is zero" tc-run m.pt2 --input x=3x2x2xf32=0
    model "torch.linalg.solve(x, x)" 2x2xf64
    fails 3 "torch.linalg.solve: The solver failed because the input matrix is singular." tc-run m.pt2 --input x=2x2xf64=1
    model "torch.linalg.cholesky(x)" 2x2xf64
    fails 3 "the leading minor of order 2 is not positive-definite" tc-run m.pt2 --input x=2x2xf64=1
}

@test "what the shapes forbid is refused at export" {
    fails 3 "must be batches of square matrices, but they are 2 by 3 matrices" model "torch.linalg.cholesky(x)" 2x3xf32
    fails 3 "Incompatible shapes of A and B" model "torch.linalg.solve(x, torch.zeros(3, 1))" 2x2xf32
    fails 3 "Low precision dtypes not supported" model "torch.linalg.svdvals(x)" 2x2xf16
}

@test "a matrix shown by an example without elements stays without" {
    printf 'import torch\nclass M(torch.nn.Module):\n    def forward(self, x):\n        return x[:, :0]\n' >empty.py
    tc-export empty.py:M --input x=3x2xf32 | tc-run --input x=3x2xf32=1 --output @empty.npy
    printf 'import torch\nclass M(torch.nn.Module):\n    def forward(self, x):\n        return torch.linalg.pinv(x), torch.linalg.pinv(x.t()), torch.linalg.matrix_rank(x)\n' >m.py
    tc-export m.py:M --input x=@empty.npy -o m.pt2
    tc-run m.pt2 --input x=@empty.npy --output out.0=@a.npy --output out.1=@b.npy --output out.2=@c.npy
    grep -aq "(0, 3)" a.npy
    grep -aq "(3, 0)" b.npy
    [ "$(tail -c 8 c.npy | od -An -td8 | xargs)" = 0 ]
}

@test "without tc-lapack.so a program refuses by name, and others run" {
    model "torch.linalg.det(x)" 2x2xf64
    mkdir alone
    cp "$(command -v tc-run)" alone
    fails 1 "linear algebra needs tc-lapack.so, which cannot be loaded" alone/tc-run m.pt2 --input x=2x2xf64=1
    tc-run m.pt2 --input x=2x2xf64=1 >det.npy
    model "x + 1" 2x2xf64
    alone/tc-run m.pt2 --input x=2x2xf64=1 >sum.npy
}

@test "torch.svd_lowrank and torch.pca_lowrank rebuild a matrix of low rank" {
    model "x.sum() > -1e300" 2x9xf64
    tc-run m.pt2 --input x=2x9xf64=1 --to npy -o true.npy
    for f in "svd_lowrank(a, q=3)" "svd_lowrank(a[:5], q=2, M=torch.zeros(9, dtype=a.dtype))" "pca_lowrank(a, q=3, center=False)"; do
        model "(lambda a: (lambda u, s, v: (((u * s) @ v.mT - a[:u.shape[0]]).abs().max() < 1e-12))(*torch.$f))(x.mT @ x)" 2x9xf64
        tc-run m.pt2 --input x=2x9xf64=0.5,1,-2,0.25,3,0.125,-1,2,0.75,1,1,-0.5,4,0.5,-3,0.25,2,-1 --expect @true.npy
    done
}

@test "torch.lobpcg finds the largest and smallest pairs of A and of A v = e B v, their gradients, and refuses small matrices" {
    cat >m.py <<'EOF'
import torch


class M(torch.nn.Module):
    def forward(self, x):
        a, b = x @ x.mT + torch.diag(torch.arange(1.0, 7, dtype=x.dtype)), torch.eye(6, dtype=x.dtype) * 2 + x.mT @ x
        every = torch.linalg.eigvalsh(a)
        e, v = torch.lobpcg(a, 2)
        last, low = torch.lobpcg(a, largest=False)
        of_b, w = torch.lobpcg(a, B=b, X=torch.ones_like(x)[:, :2], niter=-1)
        batch = torch.lobpcg(torch.stack([a, b]), k=1)[0]
        both = torch.lobpcg(a, k=1, n=2)[0]
        slope = torch.func.grad(lambda m: torch.lobpcg(m, 2)[0].sum())(a)
        apart = [e - every[-2:].flip(0), last - every[:1], a @ v - v * e, a @ low - low * last, a @ w - b @ w * of_b, w.mT @ b @ w - torch.eye(2),
                 batch[0] - e[:1], both - e[:1], slope - v @ v.mT]
        return torch.stack([z.abs().max() > 1e-6 for z in apart]).double()
EOF
    tc-export m.py:M --input x=6x6xf64 -o m.pt2
    tc-run m.pt2 --input x=6x6xf64="$(seq -s, 1 36 | tr 0-9 1829036475)" --to npy -o found.npy
    [ "$(tail -c 72 found.npy | od -An -td8 -w72 | tr -d ' 0')" = "" ]
    fails 3 "smaller than 3 x the number of requested eigenpairs (=2)" model "torch.lobpcg(x, 2)[0]" 5x5xf32
}

@test "--numerics=fast: OpenBLAS solves and factors, the reference where tc-openblas.so is not there" {
    a=8x8xf64=$(seq -s, 1 64 | tr 0-9 1829036475)
    model "(lambda a: (torch.linalg.solve(a, x), torch.linalg.eigvalsh(x + x.mT), torch.linalg.svdvals(a), torch.linalg.qr(a)[1]))(x + 99 * torch.eye(8))" 8x8xf64
    tc-run m.pt2 --input x="$a" --to safetensors >strict.st
    for i in 0 1 2 3; do
        tc-run m.pt2 --numerics=fast --input x="$a" --expect "$i=@strict.st#out.$i" --rtol 1e-9 --atol 1e-6
    done
    mkdir alone
    cp "$(command -v tc-run)" "$(dirname "$(command -v tc-run)")/tc-lapack.so" alone
    alone/tc-run m.pt2 --numerics=fast --input x="$a" --expect 0=@strict.st#out.0
}
