"""The kernels: each carries out any effect that it is given, or says that it cannot."""
