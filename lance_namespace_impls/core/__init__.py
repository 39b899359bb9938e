"""What all backends share: identifiers, typed configuration, paging, errors, the base class."""

from lance_namespace_namesake import refuse_namesake

# Checked here too: the other package may have overwritten the __init__.py above this one.
refuse_namesake()
