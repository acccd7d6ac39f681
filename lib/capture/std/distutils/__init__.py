# distutils: its module version.
