"""Parts of a catalog that operations share: where tables go, how they are opened and committed."""
