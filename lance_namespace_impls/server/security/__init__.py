"""Authentication, authorization, and the bounds on remote clients."""
