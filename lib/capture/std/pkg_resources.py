# pkg_resources: the versions that files ask about.
from importlib.metadata import version as _version

from packaging.version import InvalidVersion, parse as parse_version
DistributionNotFound, VersionConflict = LookupError, ValueError


class _Distribution:
    def __init__(self, name):
        self.project_name, self.version = name, _version(name)


def get_distribution(name):
    return _Distribution(name)
