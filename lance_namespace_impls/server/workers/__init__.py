"""Runs several processes that serve one namespace on one port."""
