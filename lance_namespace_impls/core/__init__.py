"""Code that all backends share: identifiers, typed configuration, paging, errors."""

from lance_namespace_namesake import refuse_namesake

# This is also checked here, because the other package may have overwritten the parent's
# __init__.py.
refuse_namesake()
