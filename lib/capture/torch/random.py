# torch.random: the default generator. In forward the generator is the program's: what draws there is an operator, and its state no value.
from torch import get_rng_state, initial_seed, manual_seed, set_rng_state


class fork_rng:
    def __init__(self, devices=None, enabled=True, _caller="fork_rng", _devices_kw="devices", device_type="cpu"):
        self.enabled = enabled

    def __enter__(self):
        if self.enabled:
            self.state = get_rng_state()

    def __exit__(self, kind, value, trace):
        if self.enabled:
            set_rng_state(self.state)
