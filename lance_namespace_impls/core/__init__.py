"""What all backends share: identifiers, typed configuration, paging, errors, the base class."""
