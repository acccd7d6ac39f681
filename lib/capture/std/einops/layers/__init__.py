# einops.layers: the modules are in einops.layers.torch.
