"""The commands of ``lance-ns``, one module per command group."""
