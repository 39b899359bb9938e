"""Services shared by the operations: choosing locations, opening and walking tables, committing."""
