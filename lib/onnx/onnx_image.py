# Resampling, regions, spectra, windows.
import math
import torch
import torch.nn.functional as F
from onnx_shape import axis_of, product
from onnx_values import numbers
import _onnx


# ---- Resize ----
def cubic(d, a):
    """The cubic kernel with parameter a at distances d."""
    d = torch.abs(d)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return torch.where(d <= 1, near, torch.where(d < 2, far, torch.zeros_like(d)))


def weigh(d, mode, a):
    return torch.clamp(1 - torch.abs(d), min=0) if mode == "linear" else cubic(d, a)


def source(count, length, scale, how, roi, dtype):
    """The positions in the input of outputs 0..count-1."""
    x = torch.arange(count, dtype=dtype)
    wide = length * scale
    if how == "align_corners":
        if _onnx.number(wide):
            return x * 0.0 if wide == 1 else x * (length - 1) / (wide - 1)
        return x * (length - 1) / torch.sym_max(wide - 1, 1e-30)  # where it is 1, the only position is 0
    if how == "asymmetric":
        return x / scale
    if how == "tf_crop_and_resize":
        if wide == 1:
            x = x * 0.0 + (roi[1] - roi[0]) * (length - 1) / 2
        else:
            x = x * ((roi[1] - roi[0]) * (length - 1) / (wide - 1))
        return x + roi[0] * (length - 1)
    if how == "pytorch_half_pixel":
        return ((x + 0.5) / scale - 0.5) * torch.sym_min(count - 1, 1)  # the position of a single element is 0
    if how == "half_pixel_symmetric":
        return length / 2 * (1 - count / wide) + (x + 0.5) / scale - 0.5
    if how == "tf_half_pixel_for_nn":
        return (x + 0.5) / scale
    return (x + 0.5) / scale - 0.5


def taps(count, length, scale, mode, how, roi, nearest, a, antialias, exclude):
    """(positions, weights, outside): for each tap the input positions [count] and their weights, or the positions of all and weights [count, positions]; which outputs lie outside (or None)."""
    # the nearest element is chosen in float32, as in ONNX Runtime: 3 / 0.6 is 5
    x = source(count, length, scale, how, roi, torch.float32 if mode == "nearest" else torch.float64)
    outside = torch.logical_or(x < 0, x > length - 1) if how == "tf_crop_and_resize" else None
    if mode == "nearest":
        if nearest == "round_prefer_floor":
            at = torch.ceil(x - 0.5)
        elif nearest == "round_prefer_ceil":
            at = torch.floor(x + 0.5)
        else:
            at = torch.floor(x) if nearest == "floor" or (nearest == "opset_10" and scale >= 1) else torch.ceil(x)
        return [torch.clamp(at.to(torch.int64), 0, length - 1)], None, outside
    base = torch.floor(x)
    f = x - base
    s = torch.sym_min(scale, 1.0) if antialias else 1.0
    reach = 1 if mode == "linear" else 2
    first = math.floor(-reach / s) + 1
    if not _onnx.number(first):  # as many taps as the scale says when it runs: each position, and beyond the ends what they reach
        pos = torch.arange(length - 2 * first + 2) + (first - 1)
        w = weigh((pos - x.unsqueeze(1)) * s, mode, a)
        if exclude:
            w = torch.where(torch.logical_or(pos < 0, pos > length - 1), torch.zeros_like(w), w)
        total = w.sum(1, keepdim=True)
        return torch.clamp(pos, 0, length - 1), w / torch.where(total == 0, torch.ones_like(total), total), outside
    at, w = [], []
    for k in range(first, 2 - first):
        d = (k - f) * s
        weight = weigh(d, mode, a)
        pos = base + k
        if exclude:
            weight = torch.where(torch.logical_or(pos < 0, pos > length - 1), torch.zeros_like(weight), weight)
        at.append(torch.clamp(pos, 0, length - 1).to(torch.int64))
        w.append(weight)
    if antialias or exclude:
        total = w[0]
        for v in w[1:]:
            total = total + v
        total = torch.where(total == 0, torch.ones_like(total), total)
        w = [v / total for v in w]
    return at, w, outside


def all_known(*v):
    for x in v:
        if x is not None and not _onnx.number(x):
            return False
    return True


def resize_axis(n, x, axis, count, scale, roi, how, mode):
    length = x.shape[axis]
    args = (count, length, scale, mode, how, roi, n.get("nearest_mode", "round_prefer_floor"), n.get("cubic_coeff_a", -0.75),
            n.get("antialias", 0), n.get("exclude_outside", 0))
    at, w, outside = _onnx.eager(taps, *args) if all_known(count, length, scale) else taps(*args)
    shape = [1] * x.dim()
    shape[axis] = -1
    if w is None:
        y = torch.index_select(x, axis, at[0])
    elif isinstance(w, torch.Tensor):
        y = torch.matmul(torch.index_select(x, axis, at).movedim(axis, -1), w.to(x.dtype).t()).movedim(-1, axis)
    else:
        y = None
        for p, v in zip(at, w):
            part = torch.index_select(x, axis, p) * v.to(x.dtype).reshape(shape)
            y = part if y is None else y + part
    if outside is not None:
        y = torch.where(outside.reshape(shape), torch.full([], n.get("extrapolation_value", 0.0), dtype=y.dtype), y)
    return y


def resize(n, x, roi=None, scales=None, sizes=None):
    rank, mode = x.dim(), n.get("mode", "nearest")
    how = n.get("coordinate_transformation_mode", "half_pixel")
    axes = n.get("axes", None)
    axes = list(range(rank)) if axes is None else [axis_of(a, rank) for a in axes]
    if scales is not None and len(scales) == 0:
        scales = None
    if sizes is not None and len(sizes) == 0:
        sizes = None
    out, factor = list(x.shape), [1.0] * rank
    if sizes is not None:
        ratio = [sizes[i] / x.shape[a] for i, a in enumerate(axes)]
        policy = n.get("keep_aspect_ratio_policy", "stretch")
        if policy != "stretch":
            one = min(ratio) if policy == "not_larger" else max(ratio)
            ratio = [one] * len(axes)
            sizes = [int(one * x.shape[a] + 0.5) for a in axes]
        for i, a in enumerate(axes):
            out[a], factor[a] = sizes[i], ratio[i]
    elif scales is not None:
        for i, a in enumerate(axes):
            factor[a] = scales[i]
            whole = _onnx.number(scales[i]) and scales[i] == int(scales[i])
            out[a] = x.shape[a] * int(scales[i]) if whole else math.floor(x.shape[a] * scales[i])
    else:
        n.fail("neither scales nor sizes")
    dtype = x.dtype
    if mode != "nearest" and dtype != torch.float64:
        x = x.to(torch.float32)
    rois = {}
    if how == "tf_crop_and_resize":
        if roi is None or len(roi) != 2 * len(axes):
            n.fail(f"tf_crop_and_resize needs a roi of {2 * len(axes)} numbers, two for each axis")
        for i, a in enumerate(axes):
            rois[a] = [roi[i], roi[len(axes) + i]]
    for a in axes:
        same = all_known(factor[a]) and factor[a] == 1.0 and (scales is not None or (all_known(out[a], x.shape[a]) and out[a] == x.shape[a]))
        same = same and how != "tf_half_pixel_for_nn"
        if same and (a not in rois or rois[a] == [0.0, 1.0]):
            continue
        x = resize_axis(n, x, a, out[a], factor[a], rois.get(a), how, mode)
    if x.dtype == dtype:
        return x
    if not dtype.is_floating_point:
        info = torch.iinfo(dtype)
        x = torch.clamp(torch.trunc(x), info.min, info.max)
    return x.to(dtype)


def resize_10(n, x, scales):
    """Opset 10 and Upsample: asymmetric coordinates; the nearest element is rounded down, and up where a dimension shrinks, as in ONNX Runtime."""
    n.attrs = dict(n.attrs)
    n.attrs["coordinate_transformation_mode"] = "asymmetric"
    n.attrs["nearest_mode"] = "opset_10"
    n.attrs["mode"] = {"bilinear": "linear", "trilinear": "linear"}.get(n.get("mode", "nearest"), n.get("mode", "nearest"))
    return resize(n, x, None, scales)


def upsample_7(n, x):
    return resize_10(n, x, n.get("scales"))


def upsample_1(n, x):
    return resize_10(n, x, [1.0, 1.0, n.get("height_scale"), n.get("width_scale")])


# ---- GridSample, AffineGrid ----
def grid_sample(n, x, grid):
    mode = {"bilinear": 0, "linear": 0, "nearest": 1, "bicubic": 2, "cubic": 2}[n.get("mode", "linear")]
    padding = {"zeros": 0, "border": 1, "reflection": 2}[n.get("padding_mode", "zeros")]
    return torch.grid_sampler(x, grid, mode, padding, bool(n.get("align_corners", 0)))


def affine_grid(n, theta, size):
    sizes = list(size[2:])
    k, corners = len(sizes), n.get("align_corners", 0)
    parts = []
    for i in range(k - 1, -1, -1):  # x first
        s = sizes[i]
        at = torch.arange(s, dtype=theta.dtype)
        at = at * (2.0 / torch.sym_max(s - 1, 1)) - 1.0 if corners else (at * 2.0 + 1.0) / s - 1.0
        shape = [1] * k
        shape[i] = s
        parts.append(at.reshape(shape).expand(sizes))
    parts.append(torch.ones(sizes, dtype=theta.dtype))
    base = torch.stack(parts, -1).reshape([1, -1, k + 1])
    return torch.matmul(base, theta.transpose(1, 2)).reshape([theta.shape[0]] + sizes + [k])


# ---- bilinear interpolation at arbitrary positions ----
def bilinear(x, y, z, height, width):
    """x [..., H*W] flattened maps; y, z: positions in pixels; gives (four index tensors, four weights), clamped to the map."""
    y, z = torch.clamp(y, min=0), torch.clamp(z, min=0)
    yl, zl = torch.floor(y), torch.floor(z)
    yl, zl = torch.clamp(yl, max=height - 1), torch.clamp(zl, max=width - 1)
    yh, zh = torch.clamp(yl + 1, max=height - 1), torch.clamp(zl + 1, max=width - 1)
    ly = torch.where(yl >= height - 1, torch.zeros_like(y), y - yl)
    lz = torch.where(zl >= width - 1, torch.zeros_like(z), z - zl)
    at = [(yl, zl), (yl, zh), (yh, zl), (yh, zh)]
    w = [(1 - ly) * (1 - lz), (1 - ly) * lz, ly * (1 - lz), ly * lz]
    return [(a * width + b).to(torch.int64) for a, b in at], w


def roi_align(n, x, rois, batch):
    ph, pw = n.get("output_height", 1), n.get("output_width", 1)
    scale, ratio, mode = n.get("spatial_scale", 1.0), n.get("sampling_ratio", 0), n.get("mode", "avg")
    half = n.get("coordinate_transformation_mode", "half_pixel" if n.version >= 16 else "output_half_pixel") == "half_pixel"
    shift = 0.5 if half else 0.0
    box = rois * scale - shift
    x0, y0 = box[:, 0], box[:, 1]
    w, h = box[:, 2] - x0, box[:, 3] - y0
    if not half:
        w, h = torch.clamp(w, min=1.0), torch.clamp(h, min=1.0)
    if ratio > 0:
        return pooled(x, batch, [y0, x0], [h / ph, w / pw], [ph, pw], [ratio, ratio], None, mode)
    # as many samples as a bin has pixels, which differs between regions
    counts = [torch.clamp(torch.ceil(h / ph), min=0.0), torch.clamp(torch.ceil(w / pw), min=0.0)]
    return pooled(x, batch, [y0, x0], [h / ph, w / pw], [ph, pw], [most_of(t) for t in counts], counts, mode)


def most_of(counts):
    """The largest of counts [R] as a size; 0 if there are none."""
    t = torch.amax(F.pad(counts, [0, 1])).to(torch.int64)
    return int(numbers(t)[0]) if _onnx.known(t) else t.item()


def max_roi_pool(n, x, rois):
    """The maximum of each bin of each region; a bin without pixels gives 0."""
    ph, pw = n.get("pooled_shape")
    at = torch.floor(rois[:, 1:] * n.get("spatial_scale", 1.0) + 0.5)  # left, top, right, bottom: pixels of both ends belong to it

    def inside(first, last, bins, length):
        """[R, bins, length]: the pixels in each bin."""
        size = torch.clamp(last - first + 1.0, min=1.0).unsqueeze(1) / bins
        k, first = torch.arange(bins, dtype=rois.dtype).unsqueeze(0), first.unsqueeze(1)
        low, high = torch.floor(k * size) + first, torch.ceil((k + 1.0) * size) + first
        p = torch.arange(length, dtype=rois.dtype)
        return torch.logical_and(p >= low.unsqueeze(2), p < high.unsqueeze(2))

    maps = torch.index_select(x, 0, rois[:, 0].to(torch.int64))
    cols, rows = inside(at[:, 0], at[:, 2], pw, x.shape[3]), inside(at[:, 1], at[:, 3], ph, x.shape[2])
    low = torch.full([], float("-inf"), dtype=x.dtype)
    y = torch.amax(torch.where(cols.unsqueeze(1).unsqueeze(1), maps.unsqueeze(3), low), [4])  # [R, C, H, pw]
    y = torch.amax(torch.where(rows.unsqueeze(1).unsqueeze(4), y.unsqueeze(2), low), [3])
    return torch.where(y == low, torch.zeros_like(y), y)


def samples(start, bin, bins, most, counts):
    """Positions [R, bins * most] of samples along one axis, evenly spaced in each bin, and which count: counts[r] of each bin; None: all."""
    start, bin = start.reshape([-1, 1, 1]), bin.reshape([-1, 1, 1])
    k, i = torch.arange(bins, dtype=start.dtype).reshape([1, -1, 1]), torch.arange(most, dtype=start.dtype).reshape([1, 1, -1])
    each = most if counts is None else torch.clamp(counts, min=1.0).reshape([-1, 1, 1])
    at = start + k * bin + (i + 0.5) * bin / each
    ok = None if counts is None else (i < counts.reshape([-1, 1, 1])).expand([start.shape[0], bins, most])
    return torch.flatten(at, 1), ok if ok is None else torch.flatten(ok, 1)


def pooled(x, batch, start, bin, bins, most, counts, mode):
    """Means or maxima of samples in the bins of regions. For each axis: the first position [R], the size of a bin [R], the bins, and the most
    samples in a bin; counts: the number of samples for each region, None: all the same."""
    c, height, width = x.shape[1], x.shape[2], x.shape[3]
    r, ny, nx = start[0].shape[0], bins[0] * most[0], bins[1] * most[1]
    (ys, oky), (xs, okx) = [samples(start[k], bin[k], bins[k], most[k], None if counts is None else counts[k]) for k in range(2)]

    def grid(a, b):
        return a.unsqueeze(2).expand([r, ny, nx]).reshape([r, ny * nx]), b.unsqueeze(1).expand([r, ny, nx]).reshape([r, ny * nx])

    y, z = grid(ys, xs)
    out = torch.logical_or(torch.logical_or(y < -1.0, y > height), torch.logical_or(z < -1.0, z > width))
    at, wt = bilinear(x, y, z, height, width)
    maps = torch.index_select(x.reshape([x.shape[0], c, height * width]), 0, batch.to(torch.int64))
    parts = []
    for p, v in zip(at, wt):
        v = torch.where(out, torch.zeros_like(v), v)
        g = torch.gather(maps, 2, p.unsqueeze(1).expand([r, c, ny * nx]))
        parts.append(g * v.unsqueeze(1))
    average = mode == "avg"
    y = parts[0] + parts[1] + parts[2] + parts[3] if average else torch.maximum(torch.maximum(parts[0], parts[1]), torch.maximum(parts[2], parts[3]))
    shape = [r, c, bins[0], most[0], bins[1], most[1]]
    if counts is None:
        return torch.mean(y.reshape(shape), [3, 5]) if average else torch.amax(y.reshape(shape), [3, 5])
    ok = torch.logical_and(*grid(oky, okx)).unsqueeze(1)
    y = torch.where(ok, y, 0.0 if average else float("-inf")).reshape(shape)
    n = (counts[0] * counts[1]).reshape([-1, 1, 1, 1])
    if average:
        return torch.sum(y, [3, 5]) / torch.clamp(n, min=1.0)
    return torch.where(n == 0, 0.0, torch.amax(F.pad(y, [0, 1, 0, 0, 0, 1], value=float("-inf")), [3, 5]))


def deform_conv(n, x, w, offset, bias=None, mask=None):
    if x.dim() != 4:
        n.unsupported(f"a deformable convolution of rank {x.dim()}")
    kh, kw = w.shape[2], w.shape[3]
    k = kh * kw
    stride, dil, pads = n.get("strides", [1, 1]), n.get("dilations", [1, 1]), n.get("pads", [0, 0, 0, 0])
    group, og = n.get("group", 1), n.get("offset_group", 1)
    b, c, height, width = x.shape
    oh, ow = offset.shape[2], offset.shape[3]
    off = offset.reshape([b, og, k, 2, oh, ow])
    base_y = (torch.arange(oh) * stride[0] - pads[0]).reshape([1, oh, 1]) + (torch.arange(kh) * dil[0]).reshape([kh, 1]).expand([kh, kw]).reshape([k, 1, 1])
    base_x = (torch.arange(ow) * stride[1] - pads[1]).reshape([1, 1, ow]) + (torch.arange(kw) * dil[1]).reshape([1, kw]).expand([kh, kw]).reshape([k, 1, 1])
    y = off[:, :, :, 0] + base_y.to(x.dtype)  # [B, og, k, oh, ow]
    z = off[:, :, :, 1] + base_x.to(x.dtype)
    yl, zl = torch.floor(y), torch.floor(z)
    maps = x.reshape([b, og, c // og, height * width])
    cols = None
    for dy in (0, 1):
        for dz in (0, 1):
            py, pz = yl + dy, zl + dz
            weight = (1 - torch.abs(y - py)) * (1 - torch.abs(z - pz))
            ok = torch.logical_and(torch.logical_and(py >= 0, py <= height - 1), torch.logical_and(pz >= 0, pz <= width - 1))
            weight = torch.where(ok, weight, torch.zeros_like(weight))
            at = (torch.clamp(py, 0, height - 1) * width + torch.clamp(pz, 0, width - 1)).to(torch.int64)
            at = at.reshape([b, og, 1, k * oh * ow]).expand([b, og, c // og, k * oh * ow])
            part = torch.gather(maps, 3, at) * weight.reshape([b, og, 1, k * oh * ow])
            cols = part if cols is None else cols + part
    if mask is not None:
        cols = cols * mask.reshape([b, og, 1, k * oh * ow])
    cols = cols.reshape([b, group, c // group * k, oh * ow])
    weights = w.reshape([1, group, w.shape[0] // group, c // group * k])
    y = torch.matmul(weights, cols).reshape([b, w.shape[0], oh, ow])
    return y if bias is None else y + bias.reshape([1, -1, 1, 1])


# ---- ImageDecoder ----
def image_decoder(n, data):
    """[H, W, C] from the bytes of an image file; grey is weighted as in Pillow."""
    form = n.get("pixel_format", "RGB")
    x = torch.ops.image.decode_image(data, 3).permute(1, 2, 0)
    if form == "BGR":
        return torch.flip(x, [2])
    if form == "RGB":
        return x.contiguous()
    if form != "Grayscale":
        n.fail(f"pixel_format {form}")
    weights = torch.tensor([19595, 38470, 7471], dtype=torch.int32)
    return ((x * weights).sum(2, keepdim=True, dtype=torch.int32) + 32768 >> 16).to(torch.uint8)


# ---- NonMaxSuppression ----
def nms(n, boxes, scores, most=None, iou=None, threshold=None):
    """[selected, 3]: batch, class, box; best first in each class. A scan visits the boxes of a class in the order of their scores and carries which
    ones were selected."""
    from onnx_control import scan

    limit = most[0] if most else 0
    batches, count, classes = boxes.shape[0], boxes.shape[1], scores.shape[1]
    if not (_onnx.require(boxes.shape[2] == 4) and _onnx.require(scores.shape[0] == batches) and _onnx.require(scores.shape[2] == count)):
        n.fail(f"boxes of sizes {list(boxes.shape)} and scores of sizes {list(scores.shape)}")
    if n.get("center_point_box", 0):
        cx, cy, w, h = [boxes[:, :, i] for i in range(4)]
        x0, x1, y0, y1 = cx - w / 2, cx + w / 2, cy - h / 2, cy + h / 2
    else:
        a, b, c, d = [boxes[:, :, i] for i in range(4)]
        y0, y1, x0, x1 = torch.minimum(a, c), torch.maximum(a, c), torch.minimum(b, d), torch.maximum(b, d)
    area = (x1 - x0) * (y1 - y0)

    def pair(f, t):
        return f(t.unsqueeze(2), t.unsqueeze(1))

    ow = pair(torch.minimum, x1) - pair(torch.maximum, x0)
    oh = pair(torch.minimum, y1) - pair(torch.maximum, y0)
    inter = torch.where(torch.logical_and(ow > 0, oh > 0), ow * oh, torch.zeros_like(ow))
    union = area.unsqueeze(2) + area.unsqueeze(1) - inter
    good = torch.logical_and(torch.logical_and(area.unsqueeze(2) > 0, area.unsqueeze(1) > 0), torch.logical_and(inter > 0, union > 0))
    limit_iou = iou.reshape([]) if iou is not None else 0.0
    over = torch.logical_and(good, inter / torch.where(union > 0, union, torch.ones_like(union)) > limit_iou)  # [B, N, N]
    over = over.unsqueeze(1).expand([batches, classes, count, count]).reshape([batches * classes, count, count])
    flat = scores.reshape([batches * classes, count])
    order = torch.argsort(flat, dim=1, descending=True, stable=True)  # [BC, N]
    ok = flat > threshold.reshape([]) if threshold is not None else torch.ones_like(flat, dtype=torch.bool)
    row = torch.arange(batches * classes)

    def step(state, xs):
        taken, number = state
        at = xs[0]
        hit = torch.logical_and(over[row, at], taken).any(1)
        new = torch.logical_and(torch.logical_and(ok[row, at], torch.logical_not(hit)), number < limit)
        mine = torch.arange(count).unsqueeze(0) == at.unsqueeze(1)
        return [torch.logical_or(taken, torch.logical_and(mine, new.unsqueeze(1))), number + new.to(torch.int64)], [new]

    start = [torch.zeros([batches * classes, count], dtype=torch.bool), torch.zeros([batches * classes], dtype=torch.int64)]
    _, ys = scan(step, start, [order.t()])
    picked = torch.nonzero(ys[0].t())  # [selected, 2]: (batch, class), rank
    bc, rank = picked[:, 0], picked[:, 1]
    box = order.reshape([-1])[bc * count + rank]
    return torch.stack([torch.div(bc, classes, rounding_mode="floor"), torch.remainder(bc, classes), box], 1)


# ---- spectra ----
def real_or_complex(x):
    """x [..., 1] without its last dimension, x [..., 2] as complex numbers."""
    if _onnx.truth(x.shape[-1] == 1):
        return torch.select(x, -1, 0)
    _onnx.require(x.shape[-1] == 2)
    return torch.complex(torch.select(x, -1, 0), torch.select(x, -1, 1))


def dft(n, x, length, axis):
    if x.dtype in (torch.float16, torch.bfloat16):  # there are no complex numbers with such parts
        return dft(n, x.float(), length, axis).to(x.dtype)
    rank = x.dim()
    axis = axis_of(axis, rank)
    inverse, one = n.get("inverse", 0), n.get("onesided", 0)
    signal = real_or_complex(x)
    real = None if signal.dtype.is_complex else signal
    size = length[0] if length else None
    if inverse and one:
        size = 2 * (x.shape[axis] - 1) if size is None else size
        return torch.fft.irfft(signal, size, axis).unsqueeze(-1)
    if inverse:
        return torch.view_as_real(torch.fft.ifft(signal, size, axis))
    if one:
        return torch.view_as_real(torch.fft.rfft(real, size, axis)) if real is not None else n.unsupported("a one-sided transform of complex numbers")
    return torch.view_as_real(torch.fft.fft(signal, size, axis))


def dft_17(n, x, length=None):
    return dft(n, x, length, n.get("axis", 1))


def dft_20(n, x, length=None, axis=None):
    return dft(n, x, length, axis[0] if axis else -2)


def stft(n, x, step, window=None, length=None):
    if x.dtype in (torch.float16, torch.bfloat16):
        return stft(n, x.float(), step, None if window is None else window.float(), length).to(x.dtype)
    size = window.shape[0] if window is not None else length[0] if length else x.shape[-2]
    frames = real_or_complex(x) if x.dim() == 3 else x
    complex_in = frames.dtype.is_complex
    frames = frames.unfold(1, size, step[0])  # [B, frames, size]
    if window is not None:
        frames = frames * window
    if n.get("onesided", 1) and not complex_in:
        return torch.view_as_real(torch.fft.rfft(frames, None, -1))
    y = torch.view_as_real(torch.fft.fft(frames, None, -1))
    return y.narrow(2, 0, size // 2 + 1) if n.get("onesided", 1) else y


def window_of(terms):
    """a0 + a1 cos(2 pi n / N) + a2 cos(4 pi n / N)"""

    def rule(n, size):
        from onnx_import import DTYPES

        count = size[0]
        total = count if n.get("periodic", 1) else count - 1
        at = torch.arange(count, dtype=torch.float64) * (2.0 * math.pi / total)
        y = torch.full([count], terms[0], dtype=torch.float64)
        for k, a in enumerate(terms[1:]):
            y = y + torch.cos(at * (k + 1)) * a
        return y.to(DTYPES[n.get("output_datatype", 1)])

    return rule


def mel_weights(n, bins, length, rate, low, high):
    from onnx_import import DTYPES

    bins, length, rate, low, high = bins[0], length[0], rate[0], low[0], high[0]
    rows = length // 2 + 1
    lo, hi = 2595 * math.log10(1 + low / 700), 2595 * math.log10(1 + high / 700)
    step = (hi - lo) / (bins + 2)
    points = [int((length + 1) * (700 * (10 ** ((lo + step * i) / 2595) - 1)) // rate) for i in range(bins + 2)]
    out = [[0.0] * bins for _ in range(rows)]
    for i in range(bins):
        left, mid, right = points[i], points[i + 1], points[i + 2]
        if mid == left:
            out[mid][i] = 1.0
        else:
            for j in range(left, mid + 1):
                out[j][i] = (j - left) / (mid - left)
        if right > mid:
            for j in range(mid, right):
                out[j][i] = (right - j) / (right - mid)
    return torch.tensor(out, dtype=torch.float64).to(DTYPES[n.get("output_datatype", 1)])


# ---- random numbers ----
def random_type(n, like=None):
    from onnx_import import DTYPES

    return DTYPES[n.get("dtype")] if n.has("dtype") else like.dtype if like is not None else torch.float32


def drawn(n, like, law, spread, least):
    """Random numbers of a distribution, drawn with the precision of the result: float64 for double, float32 for the others"""
    dtype = random_type(n, like)
    shape = n.get("shape") if like is None else list(like.shape)
    return (law(shape, dtype=torch.float64 if dtype == torch.float64 else torch.float32) * spread + least).to(dtype)


def random_normal(n, like=None):
    return drawn(n, like, torch.randn, n.get("scale", 1.0), n.get("mean", 0.0))


def random_uniform(n, like=None):
    low = n.get("low", 0.0)
    return drawn(n, like, torch.rand, n.get("high", 1.0) - low, low)


def bernoulli(n, p):
    return torch.bernoulli(p).to(random_type(n, p))


def multinomial(n, logits):
    from onnx_import import DTYPES

    p = torch.softmax(logits, 1)
    return torch.multinomial(p, n.get("sample_size", 1), True).to(DTYPES[n.get("dtype", 6)])


TABLE = [
    ("", "Resize", 10, resize_10, "TS"), ("", "Resize", 11, resize, "Thss"), ("", "Upsample", 1, upsample_1, "T"), ("", "Upsample", 7, upsample_7, "T"), ("", "Upsample", 9, resize_10, "TS"),
    ("", "GridSample", 16, grid_sample, "TT"), ("", "AffineGrid", 20, affine_grid, "TS"), ("", "RoiAlign", 10, roi_align, "TTT"), ("", "MaxRoiPool", 1, max_roi_pool, "TT"),
    ("", "DeformConv", 19, deform_conv, "TTTtt"), ("", "NonMaxSuppression", 10, nms, "TThtt"), ("", "ImageDecoder", 20, image_decoder, "T"),
    ("", "DFT", 17, dft_17, "Ts"), ("", "DFT", 20, dft_20, "Tsh"), ("", "STFT", 17, stft, "TSts"),
    ("", "HannWindow", 17, window_of([0.5, -0.5]), "S"), ("", "HammingWindow", 17, window_of([25.0 / 46, -21.0 / 46]), "S"),
    ("", "BlackmanWindow", 17, window_of([0.42, -0.5, 0.08]), "S"), ("", "MelWeightMatrix", 17, mel_weights, "HHHHH"),
    ("", "RandomNormal", 1, random_normal, ""), ("", "RandomUniform", 1, random_uniform, ""), ("", "RandomNormalLike", 1, random_normal, "T"),
    ("", "RandomUniformLike", 1, random_uniform, "T"), ("", "Bernoulli", 15, bernoulli, "T"), ("", "Multinomial", 7, multinomial, "T"),
]
