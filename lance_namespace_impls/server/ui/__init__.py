"""Web pages for people: the explorer."""
