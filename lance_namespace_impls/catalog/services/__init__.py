"""Services that operations share: placing, opening, walking and committing tables."""
