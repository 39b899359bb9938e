"""Pages for people: the explorer."""
