"""The web pages: the explorer."""
