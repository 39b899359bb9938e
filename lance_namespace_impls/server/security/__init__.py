"""Authentication, authorization, and restrictions on remote clients."""
