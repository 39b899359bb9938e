"""Table operations on pylance that need only a location and storage options."""
