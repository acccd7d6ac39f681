# huggingface_hub: the classes that a model may derive from, which add how it is stored and fetched, and nothing to what it computes.
class ModelHubMixin:
    def __init_subclass__(cls, *, repo_url=None, paper_url=None, docs_url=None, model_card_template=None, languages=None, library_name=None,
                          license=None, license_name=None, license_link=None, pipeline_tag=None, tags=None, coders=None):
        super().__init_subclass__()

    @classmethod
    def from_pretrained(cls, *args, **kwargs):
        raise NotImplementedError("from_pretrained() is not part of the model language: it fetches files; load weights by --weights")

    def save_pretrained(self, *args, **kwargs):
        raise NotImplementedError("save_pretrained() is not part of the model language: it writes files")

    push_to_hub = save_pretrained


class PyTorchModelHubMixin(ModelHubMixin):
    pass
