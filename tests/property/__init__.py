"""Properties that hold for all inputs."""
