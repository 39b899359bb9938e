"""LanceDB's dialect of the protocol, for its remote clients."""
