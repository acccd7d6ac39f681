# heapq: CPython's moves, so that a heap's list is the same.


def _down(heap, start, at):  # from at towards the root
    item = heap[at]
    while at > start:
        parent = (at - 1) >> 1
        if not item < heap[parent]:
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = item


def _up(heap, at):  # the smaller child rises to a leaf's place, then the item goes back
    start, item = at, heap[at]
    child = 2 * at + 1
    while child < len(heap):
        if child + 1 < len(heap) and not heap[child] < heap[child + 1]:
            child += 1
        heap[at] = heap[child]
        at, child = child, 2 * child + 1
    heap[at] = item
    _down(heap, start, at)


def heappush(heap, item):
    heap.append(item)
    _down(heap, 0, len(heap) - 1)


def heappop(heap):
    last = heap.pop()
    return heapreplace(heap, last) if heap else last


def heapreplace(heap, item):
    least, heap[0] = heap[0], item
    _up(heap, 0)
    return least


def heappushpop(heap, item):
    return heapreplace(heap, item) if heap and heap[0] < item else item


def heapify(x):
    for i in reversed(range(len(x) // 2)):
        _up(x, i)


def nsmallest(n, iterable, key=None):
    return sorted(iterable, key=key)[:max(n, 0)]


def nlargest(n, iterable, key=None):
    return sorted(iterable, key=key, reverse=True)[:max(n, 0)]


def merge(*iterables, key=None, reverse=False):
    return iter(sorted([x for one in iterables for x in one], key=key, reverse=reverse))
