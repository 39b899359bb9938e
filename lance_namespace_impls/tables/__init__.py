"""Table operations on pylance: everything that needs only a location and storage options."""
