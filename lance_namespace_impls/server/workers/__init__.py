"""Several processes that serve one namespace on one port."""
