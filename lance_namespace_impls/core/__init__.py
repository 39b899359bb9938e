"""What all backends share: identifiers, typed configuration, paging, errors, the base class."""

from lance_namespace_kit import refuse_namesake

# Every backend starts here, also where another package's __init__.py lies above this one.
refuse_namesake()
