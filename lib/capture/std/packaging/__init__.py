# packaging: its module version.
