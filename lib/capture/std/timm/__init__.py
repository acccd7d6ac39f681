# timm: the layers that model files take from it. Its models are files of their own.
