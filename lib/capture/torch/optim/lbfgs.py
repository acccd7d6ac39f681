# L-BFGS with an optional strong-Wolfe line search: host control flow over whole-parameter vectors, so it needs concrete tensors.
import torch
from torch.optim.optimizer import Optimizer, _learning_rate


def _cubic(x1, f1, g1, x2, f2, g2, bounds=None):
    # Minimum of the cubic through two points with their slopes, kept inside the bounds.
    lo, hi = bounds if bounds is not None else ((x1, x2) if x1 <= x2 else (x2, x1))
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1**2 - g1 * g2
    if square < 0:
        return (lo + hi) / 2.0
    d2 = square.sqrt() if isinstance(square, torch.Tensor) else square**0.5
    if x1 <= x2:
        at = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    else:
        at = x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2))
    return min(max(at, lo), hi)


def _strong_wolfe(evaluate, x, t, d, f, g, gtd, max_ls, c1=1e-4, c2=0.9, tolerance=1e-9):
    # max_ls: steps after the first; when none is left, the better end of the bracket is taken.
    d_norm = d.abs().max()
    g = g.clone()
    f_new, g_new = evaluate(x, t, d)
    evals = 1
    gtd_new = g_new.dot(d)
    t_prev, f_prev, g_prev, gtd_prev = 0, f, g, gtd
    done = False
    it = 0
    bracket = None
    while it < max_ls:
        if f_new > (f + c1 * t * gtd) or (it > 1 and f_new >= f_prev):
            bracket = [(t_prev, f_prev, g_prev, gtd_prev), (t, f_new, g_new.clone(), gtd_new)]
            break
        if abs(gtd_new) <= -c2 * gtd:
            bracket = [(t, f_new, g_new, gtd_new)]
            done = True
            break
        if gtd_new >= 0:
            bracket = [(t_prev, f_prev, g_prev, gtd_prev), (t, f_new, g_new.clone(), gtd_new)]
            break
        low = t + 0.01 * (t - t_prev)
        high = t * 10
        before = t
        t = _cubic(t_prev, f_prev, gtd_prev, t, f_new, gtd_new, bounds=(low, high))
        t_prev, f_prev, g_prev, gtd_prev = before, f_new, g_new.clone(), gtd_new
        f_new, g_new = evaluate(x, t, d)
        evals += 1
        gtd_new = g_new.dot(d)
        it += 1
    if bracket is None:
        bracket = [(0, f, g, gtd), (t, f_new, g_new, gtd_new)]
    stalled = False
    lo, hi = (0, 1) if bracket[0][1] <= bracket[-1][1] else (1, 0)
    while not done and it < max_ls:
        (a, fa, _, ga), (b, fb, _, gb) = bracket
        if abs(b - a) * d_norm < tolerance:
            break
        t = _cubic(a, fa, ga, b, fb, gb)
        small, large = min(a, b), max(a, b)
        eps = 0.1 * (large - small)
        if min(large - t, t - small) < eps:
            if stalled or t >= large or t <= small:
                t = large - eps if abs(t - large) < abs(t - small) else small + eps
                stalled = False
            else:
                stalled = True
        else:
            stalled = False
        f_new, g_new = evaluate(x, t, d)
        evals += 1
        gtd_new = g_new.dot(d)
        it += 1
        if f_new > (f + c1 * t * gtd) or f_new >= bracket[lo][1]:
            bracket[hi] = (t, f_new, g_new.clone(), gtd_new)
            lo, hi = (0, 1) if bracket[0][1] <= bracket[1][1] else (1, 0)
        else:
            if abs(gtd_new) <= -c2 * gtd:
                done = True
            elif gtd_new * (bracket[hi][0] - bracket[lo][0]) >= 0:
                bracket[hi] = bracket[lo]
            bracket[lo] = (t, f_new, g_new.clone(), gtd_new)
    best = bracket[lo] if len(bracket) > 1 else bracket[0]
    return best[1], best[2], best[0], evals


# A complex parameter is optimised as its real and imaginary parts.
def _real(p):
    return torch.view_as_real(p) if p.is_complex() else p


class LBFGS(Optimizer):
    def __init__(self, params, lr=1, max_iter=20, max_eval=None, tolerance_grad=1e-7, tolerance_change=1e-9, history_size=100,
                 line_search_fn=None, *, maximize=False):
        _learning_rate(lr)
        if max_eval is None:
            max_eval = max_iter * 5 // 4
        super().__init__(params, dict(lr=lr, max_iter=max_iter, max_eval=max_eval, tolerance_grad=tolerance_grad, tolerance_change=tolerance_change,
                                      history_size=history_size, line_search_fn=line_search_fn, maximize=maximize))
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        if line_search_fn is not None and line_search_fn != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        self._params = self.param_groups[0]["params"]

    def _flat_grad(self):
        grad = torch.cat([_real(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in self._params])
        return grad.neg() if self.param_groups[0]["maximize"] else grad

    # The objective to minimise: minus the loss if maximize is set.
    def _value(self, loss):
        return -float(loss) if self.param_groups[0]["maximize"] else float(loss)

    def _move(self, t, d):
        at = 0
        for p in map(_real, self._params):
            n = p.numel()
            p.add_(d[at:at + n].view_as(p), alpha=t)
            at += n

    def _restore(self, saved):
        for p, s in zip(self._params, saved):
            p.copy_(s)

    def step(self, closure):
        with torch.no_grad():
            return self._step(closure)

    def _step(self, closure):
        group = self.param_groups[0]

        def call():
            with torch.enable_grad():
                return closure()

        if not self._params:
            return call()
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first = call()
        state["func_evals"] += 1
        grad = self._flat_grad()
        if grad.abs().max() <= group["tolerance_grad"]:
            return first
        now = {"loss": self._value(first), "grad": grad, "evals": 1, "n": 0}
        done = False
        while now["n"] < group["max_iter"] and not done:
            torch._C.scratch_begin()
            done = self._iterate(call, group, state, now)
            torch._C.scratch_end(state, now, [p.grad for p in self._params])
        return first

    def _direction(self, group, state, grad):
        """Minus the gradient times the inverse Hessian estimated from the last steps and gradient changes (two-loop recursion)."""
        dirs, steps, ro = state["old_dirs"], state["old_stps"], state["ro"]
        y = grad.sub(state["prev_flat_grad"])
        s = state["d"].mul(state["t"])
        ys = y.dot(s)
        if ys > 1e-10:
            if len(dirs) == group["history_size"]:
                dirs.pop(0)
                steps.pop(0)
                ro.pop(0)
            dirs.append(y)
            steps.append(s)
            ro.append(1.0 / ys)
            state["H_diag"] = ys / y.dot(y)
        state.pop("al", None)  # what PyTorch keeps for the next direction in a list of history_size
        al = [None] * len(dirs)
        q = grad.neg()
        for i in range(len(dirs) - 1, -1, -1):
            torch._C.scratch_begin()
            al[i] = steps[i].dot(q) * ro[i]
            q.add_(dirs[i] * -al[i])
            torch._C.scratch_end(al)
        d = torch.mul(q, state["H_diag"])
        for i in range(len(dirs)):
            torch._C.scratch_begin()
            be = dirs[i].dot(d) * ro[i]
            d.add_(steps[i] * (al[i] - be))
            torch._C.scratch_end()
        return d

    def _iterate(self, call, group, state, now):
        """One direction and the step along it; returns whether it was the last."""
        lr, max_iter, grad, loss = group["lr"], group["max_iter"], now["grad"], now["loss"]
        now["n"] += 1
        state["n_iter"] += 1
        if state["n_iter"] == 1:
            state.update(dict(d=grad.neg(), old_dirs=[], old_stps=[], ro=[], H_diag=1))
        else:
            state["d"] = self._direction(group, state, grad)
        d = state["d"]
        state["prev_flat_grad"] = grad.clone()
        state["prev_loss"] = loss
        t = min(1.0, 1.0 / grad.abs().sum()) * lr if state["n_iter"] == 1 else lr
        state["t"] = t
        gtd = grad.dot(d)
        if gtd > -group["tolerance_change"]:
            return True
        used = 0
        if group["line_search_fn"] == "strong_wolfe":
            saved = [p.clone() for p in self._params]

            def evaluate(x, at, direction):
                self._move(at, direction)
                value = self._value(call())
                g = self._flat_grad()
                self._restore(x)
                return value, g

            now["loss"], now["grad"], t, used = _strong_wolfe(evaluate, saved, t, d, loss, grad, gtd,
                                                                 group["max_eval"] - now["evals"])
            state["t"] = t
            self._move(t, d)
            converged = bool(now["grad"].abs().max() <= group["tolerance_grad"])
        else:
            self._move(t, d)
            converged = False
            if now["n"] != max_iter:
                now["loss"] = self._value(call())
                now["grad"] = self._flat_grad()
                converged = bool(now["grad"].abs().max() <= group["tolerance_grad"])
                used = 1
        now["evals"] += used
        state["func_evals"] += used
        if now["n"] == max_iter or now["evals"] >= group["max_eval"] or converged:
            return True
        return bool(d.mul(t).abs().max() <= group["tolerance_change"]) or abs(now["loss"] - state["prev_loss"]) < group["tolerance_change"]
